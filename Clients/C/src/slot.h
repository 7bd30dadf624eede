/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_SLOT_H
#define TRIBUNE_SLOT_H

/*
 * Registrations, and requests in flight.
 *
 * If the program drops the last reference to a slot that is not over, the library withdraws the slot. The slot stays
 * listed until the bus confirms the withdrawal, because the bus may still send frames for it. During a delivery, the
 * library pins the receiving slots. It frees a slot that is over, unreferenced and unpinned.
 */

#include "message.h"

enum slot_kind {
  SLOT_OBSERVATION,
  SLOT_DELEGATE,
  SLOT_HOLD,
  SLOT_POST,    /* Waits for an `ok`. */
  SLOT_AWAITED, /* Waits for an `awaited`. */
  SLOT_ASK,
  SLOT_BEGINNING, /* An ask that begins its action. */
  SLOT_ACTION,
  SLOT_FLUSH, /* Waits for the refusal of a `cancel` without a target. */
};

/* An arrow leads to the states that can follow. */
enum slot_state {
  SLOT_PENDING,  /* → IN_FORCE, RETIRING, OVER */
  SLOT_IN_FORCE, /* Registrations only. → RETIRING, OVER */
  SLOT_RETIRING, /* → OVER */
  SLOT_OVER,     /* Final. Not listed. */
};

struct slot_list {
  tribune_slot *first;
  tribune_slot *last;
};

struct tribune_slot {
  unsigned refs;
  unsigned pins;
  bool is_floating; /* Lasts as long as the connection. */
  enum slot_kind kind;
  enum slot_state state;

  tribune *bus;
  struct slot_list *list;
  tribune_slot *previous;
  tribune_slot *next;

  uint64_t serial;
  uint64_t cancel_serial;
  uint64_t id;
  uint64_t live_since; /* The sequence of its `ok`. Only later notifications are for the slot. */
  uint32_t late;       /* The number of actions under way that a hold came too late for, by the last handled frame. */
  tribune_callback callback;
  void *userdata;

  /* `terms` has the zero-terminated patterns, then the object. */
  bool is_awaited;
  size_t pattern_count;
  char *terms;
  const char *object;
};

tribune_slot *slot_new(enum slot_kind kind, tribune_callback callback, void *userdata);
/* Frees a slot that was never listed. */
void slot_free(tribune_slot *slot);
int slot_set_terms(tribune_slot *slot, const char *const *patterns, size_t count, const char *object);
/* Lists a slot. If `ret` is NULL, the slot lasts as long as the connection. */
void slot_begin(tribune_slot *slot, tribune *bus, tribune_slot **ret);
/* Sends the frame and lists the slot. After an error, frees the slot. */
int slot_send(tribune_slot *slot, tribune *bus, struct wire_writer *writer, tribune_slot **ret);
/* Puts a registration in force, by the bus's `ok`. */
void slot_confirm(tribune_slot *slot, const struct frame *frame, const tribune_message *ready);
/* Ends a request by its reply (NULL for a refusal), unless the reply is a verdict that begins an action. The slot then
   becomes the action. */
void slot_complete(tribune_slot *slot, const tribune_message *reply);
/* Ends the slot, and frees it unless it is pinned or referenced. */
void slot_finish(tribune_slot *slot);
void slot_pin(tribune_slot *slot);
void slot_unpin(tribune_slot *slot);
void slot_deliver(tribune_slot *slot, tribune_message *message);
bool slot_matches(const tribune_slot *slot, const char *name, const char *object);
/* True if lost notifications may have been for the slot. */
bool slot_receives(const tribune_slot *slot);
tribune_slot *slot_find(const struct slot_list *list, uint64_t serial);

#endif
