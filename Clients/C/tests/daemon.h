/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_DAEMON_H
#define TRIBUNE_DAEMON_H

/* A real bus in the test's folder, and what happens to the slots of its clients. */

#include <sys/types.h>

#include "../include/tribune.h"

/* The bus, and the keeper that keeps its connections over a restart. They end with the test. */
struct daemon {
  char address[128];
  pid_t bus;
  pid_t keeper; /* 0 for none. */
};

/* Forks a process that ends with the test at the latest. */
pid_t fork_child(void);

void daemon_start(struct daemon *daemon, bool has_keeper);
/* Ends the bus with a signal, and waits for its end. */
void daemon_stop(struct daemon *daemon, int signal);
/* Starts another bus, which takes over from the one that has ended. */
void daemon_start_again(struct daemon *daemon);

tribune *connect_to(const struct daemon *daemon);

/* What a callback has received. It keeps the last message of each type. */
struct record {
  unsigned counts[TRIBUNE_ENDED + 1];
  tribune_message *messages[TRIBUNE_ENDED + 1];
  uint64_t lost; /* In all. */
  /* Run for each message, if it is not NULL. */
  void (*handle)(tribune_slot *slot, tribune_message *message, struct record *record);
  void *context;
};

/* A tribune_callback for a record. */
void record_message(tribune_slot *slot, tribune_message *message, void *record);
void record_end(struct record *record);
/* Processes until the record has so many messages of a type, and returns the last one. */
tribune_message *await_message(tribune *bus, struct record *record, tribune_type type, unsigned count);
/* Processes until the connection ends, and returns the reason. */
tribune_error await_end(tribune *bus);
/* Fails the test unless the result is no error. */
void check_success(const char *file, int line, int result, const tribune_error *error);

#define SUCCEED(call, error) check_success(__FILE__, __LINE__, (call), (error))

#endif
