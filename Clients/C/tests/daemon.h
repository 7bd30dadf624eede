/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_DAEMON_H
#define TRIBUNE_DAEMON_H

#include <sys/types.h>

#include "../include/tribune.h"

/* The processes of a bus. They end with the test. */
struct daemon {
  char address[128];
  pid_t bus;
  pid_t keeper;
};

/* Forks a child that ends with the test at the latest. */
pid_t fork_child(void);

void daemon_start(struct daemon *daemon, bool has_keeper);
void daemon_stop(struct daemon *daemon, int signal);
/* Starts another bus, which takes over from the previous one. */
void daemon_start_again(struct daemon *daemon);

tribune *connect_to(const struct daemon *daemon);

/* Counts the messages of a slot, and keeps the last one of each type. */
struct record {
  unsigned counts[TRIBUNE_LATE + 1];
  tribune_message *messages[TRIBUNE_LATE + 1];
  uint64_t lost;
  void (*handle)(tribune_slot *slot, tribune_message *message, struct record *record);
  void *context;
};

void record_message(tribune_slot *slot, tribune_message *message, void *record);
void record_end(struct record *record);
/* Waits until `record` has `count` messages of the type. Returns the last one. */
tribune_message *await_message(tribune *bus, struct record *record, tribune_type type, unsigned count);
tribune_error await_end(tribune *bus);
void check_success(const char *file, int line, int result, const tribune_error *error);

#define SUCCEED(call, error) check_success(__FILE__, __LINE__, (call), (error))

#endif
