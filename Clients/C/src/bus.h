/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_BUS_H
#define TRIBUNE_BUS_H

/*
 * A connection.
 *
 * Input goes to the inbox. Only tribune_process() passes frames on to slots. A function that waits takes its reply from
 * the inbox. Input ends when the bus closes the connection or sends an invalid frame; earlier frames are handled first.
 */

#include "address.h"
#include "inbox.h"
#include "outbox.h"
#include "slot.h"

/* An arrow leads to the phases that can follow. */
enum phase {
  PHASE_GREETING, /* Before the welcome. → OPEN, ENDED */
  PHASE_OPEN,     /* → ENDED */
  PHASE_ENDED,    /* Final. The descriptor is closed with the last reference. */
};

struct tribune {
  unsigned refs;
  unsigned pins;
  pid_t process; /* The process that opened the connection, to detect a fork. */
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

  /* `handled` counts notifications, delivered or lost. `limit` is the highest count that the bus may reach; 0 if the
     library has not sent the bus a limit yet. */
  uint64_t handled;
  uint64_t limit;

  struct slot_list registrations;
  struct slot_list requests;
  struct slot_list retiring;
  tribune_message *messages;

  struct poster **posters;
  size_t poster_count;

  /* The message TRIBUNE_ENDED. It is allocated early, so the end of the connection cannot fail. */
  tribune_message *ending;
};

/* Returns -EINVAL for NULL, -ECHILD after a fork, -ENOTCONN after the end of the connection, and 0 otherwise. */
int bus_check(const tribune *bus);
uint64_t bus_next_serial(tribune *bus);
int bus_require_capacity(const tribune *bus);
void bus_await_capacity(tribune *bus, uint64_t until_usec);
/* Replaces the size TRIBUNE_STRING by the length of the text. Returns -EMSGSIZE above the bus's limit. */
int bus_require_payload(const tribune *bus, const void *data, size_t *size);
void bus_write(tribune *bus);
/* Allows the bus to send ROOM notifications beyond the handled ones. */
int bus_give_room(tribune *bus);
/* Reads once. Returns true if it found data or the end. */
bool bus_read(tribune *bus);
/* Sends a frame. Takes ownership of the bytes and the file (-1 for none), even after an error. */
int bus_send(tribune *bus, struct wire_writer *writer, int file, size_t file_length);
void bus_break(tribune *bus, const tribune_error *error);
bool bus_is_closed_by(const struct frame *frame, tribune_error *error);
int bus_pump(tribune *bus, uint64_t until_usec);
/* Returns the time at which a wait for a reply ends. A `deadline_ms` of 0 means the bus's default. */
uint64_t bus_deadline_usec(const tribune *bus, uint32_t deadline_ms);
/* Waits for a reply, and leaves it in the inbox. `*ret` becomes the link to it. */
int bus_await_reply(tribune *bus, uint64_t serial, uint64_t until_usec, struct frame ***ret, tribune_error *error);
/* Waits for the reply to a request, completes the slot, and drops a reference to it. A refusal is an error. */
int bus_await_result(tribune *bus, tribune_slot *slot, uint64_t until_usec, tribune_message **ret,
                     tribune_error *error);

/* Handles a frame. After an error, the caller ends the connection. */
int dispatch(tribune *bus, struct frame *frame);
int dispatch_reply(const tribune_slot *slot, struct frame *frame, tribune_message **ret, tribune_error *error);
void dispatch_ending(tribune *bus);
void posters_free(tribune *bus);

#endif
