/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_BUS_H
#define TRIBUNE_BUS_H

/*
 * A connection.
 *
 * Input goes to the inbox, and to slots only in tribune_process(). Waiting functions pick their frame from the inbox.
 * Input ends when the bus closes the connection or sends an invalid frame; earlier frames are handled first.
 */

#include "address.h"
#include "inbox.h"
#include "outbox.h"
#include "slot.h"

enum phase {
  PHASE_GREETING, /* Before the welcome. → OPEN, ENDED */
  PHASE_OPEN,     /* → ENDED */
  PHASE_ENDED,    /* Final. Closed only with the last reference. */
};

struct tribune {
  unsigned refs;
  unsigned pins;
  pid_t process; /* Detects a fork. */
  int fd;
  enum phase phase;
  bool is_processing;
  bool is_input_over;
  uint64_t greeting_until_usec;
  struct outbox outbox;
  struct inbox inbox;

  uint64_t id;
  uint32_t payload_max;
  uint32_t deadline_default_ms;
  bool accepts_files;
  uint64_t last_serial;

  /* Notifications and losses, as `succeed` counts them, and the limit that the bus knows: 0 for none. */
  uint64_t handled;
  uint64_t limit;

  struct slot_list registrations;
  struct slot_list requests;
  struct slot_list retiring;
  tribune_message *messages;

  struct poster **posters;
  size_t poster_count;

  /* Allocated early, so the end cannot fail. */
  tribune_message *ending;
};

/* -EINVAL without a connection, -ECHILD after a fork, -ENOTCONN after the end. */
int bus_check(const tribune *bus);
uint64_t bus_next_serial(tribune *bus);
int bus_require_capacity(const tribune *bus);
void bus_await_capacity(tribune *bus, uint64_t until_usec);
/* Resolves TRIBUNE_STRING. -EMSGSIZE above the bus's limit. */
int bus_require_payload(const tribune *bus, const void *data, size_t *size);
void bus_write(tribune *bus);
/* Lets the bus send so many notifications that at most ROOM collect in the inbox. */
int bus_give_room(tribune *bus);
/* True if it read anything, or the end. */
bool bus_read(tribune *bus);
/* Takes ownership of the bytes and the file (-1 for none), even after an error. */
int bus_send(tribune *bus, struct wire_writer *writer, int file, size_t file_length);
void bus_break(tribune *bus, const tribune_error *error);
bool bus_is_closed_by(const struct frame *frame, tribune_error *error);
int bus_pump(tribune *bus, uint64_t until_usec);
/* 0 means the bus's default. */
uint64_t bus_deadline_usec(const tribune *bus, uint32_t deadline_ms);
/* Leaves the reply in the inbox; `*ret` is the link to it. */
int bus_await_reply(tribune *bus, uint64_t serial, uint64_t until_usec, struct frame ***ret, tribune_error *error);
/* A refusal is an error. */
int bus_await_result(tribune *bus, tribune_slot *slot, uint64_t until_usec, tribune_message **ret,
                     tribune_error *error);

/* An error ends the connection. */
int dispatch(tribune *bus, struct frame *frame);
int dispatch_reply(const tribune_slot *slot, struct frame *frame, tribune_message **ret, tribune_error *error);
void dispatch_ending(tribune *bus);
void posters_free(tribune *bus);

#endif
