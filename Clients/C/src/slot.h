/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_SLOT_H
#define TRIBUNE_SLOT_H

/*
 * Registrations, and requests that are under way.
 *
 * A slot is in one list of its connection until it is over. The program's references say whether it wants the slot:
 * with the last, a slot that is not over is taken back, and stays listed, retiring, until the bus has confirmed that.
 * Until then the bus can send what is meant for it. The memory goes once the slot is over, nobody refers to it, and no
 * callback of it runs.
 */

#include "message.h"

enum slot_kind {
  SLOT_OBSERVATION,
  SLOT_DELEGATE,
  SLOT_HOLD,
  SLOT_POST,    /* Waits for an `ok`. */
  SLOT_AWAITED, /* Waits for an `awaited`. */
  SLOT_ASK,
  SLOT_FLUSH, /* Waits for the refusal of a `cancel` that has no target. */
};

enum slot_state {
  SLOT_PENDING,  /* → IN_FORCE, RETIRING, OVER */
  SLOT_IN_FORCE, /* Of registrations. → RETIRING, OVER */
  SLOT_RETIRING, /* → OVER */
  SLOT_OVER,     /* Final. Not listed. */
};

struct slot_list {
  tribune_slot *first;
  tribune_slot *last;
};

struct tribune_slot {
  unsigned refs;    /* The program's. */
  unsigned pins;    /* The library's own. */
  bool is_floating; /* Made without a reference: it lasts as long as the connection. */
  enum slot_kind kind;
  enum slot_state state;

  tribune *bus; /* NULL once it is over. */
  struct slot_list *list;
  tribune_slot *previous;
  tribune_slot *next;

  uint64_t serial;
  uint64_t cancel_serial; /* Of the `cancel`, while it retires. */
  uint64_t id;            /* Of a delegate or a hold. */
  uint64_t live_since;    /* The sequence of the `ok`: only later notifications are for it. */
  tribune_callback callback;
  void *userdata;

  /* What it is about: patterns, each with a zero behind it, then the object. */
  bool is_awaited;
  size_t pattern_count;
  char *terms;
  const char *object;
};

/* A slot in no list yet, without a serial. */
tribune_slot *slot_new(enum slot_kind kind, tribune_callback callback, void *userdata);
/* For a slot that was never listed. */
void slot_free(tribune_slot *slot);
/* Sets the patterns and the object. */
int slot_set_terms(tribune_slot *slot, const char *const *patterns, size_t count, const char *object);
/* Lists a slot. `ret`, if it is not NULL, gets a reference, and else the slot floats. */
void slot_begin(tribune_slot *slot, tribune *bus, tribune_slot **ret);
/* Sends the frame of a slot, and lists it; frees it if that fails. */
int slot_send(tribune_slot *slot, tribune *bus, struct wire_writer *writer, tribune_slot **ret);
/* Ends a slot without a callback. Frees it, unless it is pinned or the program has a reference. */
void slot_finish(tribune_slot *slot);
void slot_pin(tribune_slot *slot);
void slot_unpin(tribune_slot *slot);
/* Runs the callback. */
void slot_deliver(tribune_slot *slot, tribune_message *message);
/* Whether a notification is for a registration. */
bool slot_matches(const tribune_slot *slot, const char *name, const char *object);
/* Whether it can receive notifications, so that losses concern it. */
bool slot_receives(const tribune_slot *slot);
tribune_slot *slot_find(const struct slot_list *list, uint64_t serial);

#endif
