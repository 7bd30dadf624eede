/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_BUS_H
#define TRIBUNE_BUS_H

/*
 * A connection: its socket, its slots, and how it ends.
 *
 * What arrives goes into the inbox, and from there to slots in tribune_process() alone. Functions that wait read, too,
 * and pick the frame that they wait for out of the inbox. The input is over when the bus has closed the connection, or
 * has sent what cannot be read; what has arrived before is handled first, then the connection ends.
 */

#include "address.h"
#include "inbox.h"
#include "outbox.h"
#include "slot.h"

enum phase {
  PHASE_GREETING, /* The bus has not sent its welcome. → OPEN, ENDED */
  PHASE_OPEN,     /* → ENDED */
  PHASE_ENDED,    /* Final. The socket is shut down, and closed with the last reference. */
};

struct tribune {
  unsigned refs; /* The program's. */
  unsigned pins; /* The library's own. */
  pid_t process; /* The process that opened the connection. */
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

  struct slot_list registrations;
  struct slot_list requests;
  struct slot_list retiring;
  tribune_message *messages; /* Open questions, and awaited notifications without an acknowledgement. */

  /* Known posters, indexed by the slot that the bus gives them. */
  struct poster **posters;
  size_t poster_count;

  /* The message that ends all slots. Allocated with the connection, so that it cannot fail for lack of memory. */
  tribune_message *ending;
};

/* 0 if requests can be made: -EINVAL without a connection, -ECHILD in a child process, -ENOTCONN after the end. */
int bus_check(const tribune *bus);
uint64_t bus_next_serial(tribune *bus);
/* -ENOBUFS while the outbox is full. */
int bus_require_capacity(const tribune *bus);
/* Waits until the outbox is not full, but not longer than to the given time. */
void bus_await_capacity(tribune *bus, uint64_t until_usec);
/* Resolves TRIBUNE_STRING. -EMSGSIZE if userInfo is too long for the bus, -EINVAL if it is NULL and not empty. */
int bus_require_payload(const tribune *bus, const void *data, size_t *size);
/* Writes what the kernel takes now. */
void bus_write(tribune *bus);
/* Reads once. Returns whether anything has come, or the end. */
bool bus_read(tribune *bus);
/* Sends a frame, and takes the bytes over whether or not that succeeds. The file is -1 for none. */
int bus_send(tribune *bus, struct wire_writer *writer, int file, size_t file_length);
/* Ends the input with this reason, unless it has ended already. */
void bus_break(tribune *bus, const tribune_error *error);
/* Whether a frame says that the bus closes the connection, and why. */
bool bus_is_closed_by(const struct frame *frame, tribune_error *error);
/* Writes, waits until something arrives, and reads once. -ETIMEDOUT at the given time. */
int bus_pump(tribune *bus, uint64_t until_usec);
/* Until when a function waits for a reply that the bus gives after so many milliseconds at most; 0 is the bus's own
   setting. */
uint64_t bus_deadline_usec(const tribune *bus, uint32_t deadline_ms);
/* Waits for the reply with this serial. It stays in the inbox, and `*ret` is the link to it. */
int bus_await_reply(tribune *bus, uint64_t serial, uint64_t until_usec, struct frame ***ret, tribune_error *error);
/* Waits for the reply to a slot's request, and ends the slot. A refusal is an error. */
int bus_await_result(tribune *bus, tribune_slot *slot, uint64_t until_usec, tribune_message **ret,
                     tribune_error *error);

/* Handles one frame. An error ends the connection. */
int dispatch(tribune *bus, struct frame *frame);
/* Reads the reply to a request: its message, or the refusal. */
int dispatch_reply(const tribune_slot *slot, struct frame *frame, tribune_message **ret, tribune_error *error);
/* Tells every slot that the connection has ended. */
void dispatch_ending(tribune *bus);
void posters_free(tribune *bus);

#endif
