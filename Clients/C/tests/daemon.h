/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_DAEMON_H
#define TRIBUNE_DAEMON_H

/* A real bus in the test's folder, and records of its clients' messages. */

#include <sys/types.h>

#include "../include/tribune.h"

/* The bus, and the keeper of its connections. They end with the test. */
struct daemon {
  char address[128];
  pid_t bus;
  pid_t keeper; /* 0 for none. */
};

/* Ends with the test at the latest. */
pid_t fork_child(void);

void daemon_start(struct daemon *daemon, bool has_keeper);
void daemon_stop(struct daemon *daemon, int signal);
/* The new bus takes over from the last one. */
void daemon_start_again(struct daemon *daemon);

tribune *connect_to(const struct daemon *daemon);

/* Keeps the last message of each type. */
struct record {
  unsigned counts[TRIBUNE_ENDED + 1];
  tribune_message *messages[TRIBUNE_ENDED + 1];
  uint64_t lost;
  /* Runs for each message; may be NULL. */
  void (*handle)(tribune_slot *slot, tribune_message *message, struct record *record);
  void *context;
};

/* A tribune_callback. */
void record_message(tribune_slot *slot, tribune_message *message, void *record);
void record_end(struct record *record);
/* Processes until `count` messages of the type have arrived; returns the last. */
tribune_message *await_message(tribune *bus, struct record *record, tribune_type type, unsigned count);
/* Processes until the connection ends. */
tribune_error await_end(tribune *bus);
void check_success(const char *file, int line, int result, const tribune_error *error);

#define SUCCEED(call, error) check_success(__FILE__, __LINE__, (call), (error))

#endif
