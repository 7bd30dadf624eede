/* SPDX-License-Identifier: Apache-2.0 */

/* A frame for a slot that is gone is valid: the bus may have sent the frame before it read the slot's `cancel`. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bus.h"
#include "delivery.h"
#include "error.h"

/* ---- Replies ---- */

int dispatch_reply(const tribune_slot *slot, struct frame *frame, tribune_message **ret, tribune_error *error)
{
  struct wire_reader reader = frame_fields(frame);
  int result = -EBADMSG;
  if (frame->header.kind == WIRE_KIND_ERROR) {
    struct wire_refusal refusal;
    wire_read_refusal(&reader, &refusal);
    if (!reader.failed && slot->kind == SLOT_FLUSH && refusal.code == WIRE_ERROR_CODE_NOT_FOUND) {
      *ret = message_new(TRIBUNE_ACKNOWLEDGED, NULL);
      result = *ret == NULL ? -ENOMEM : 0;
    } else if (!reader.failed) {
      return error_refusal(error, refusal.code, frame_payload(frame));
    }
  } else if (frame->header.kind == WIRE_KIND_OK) {
    struct wire_okay okay;
    wire_read_okay(&reader, &okay);
    if (!reader.failed) {
      *ret = message_new(slot->kind == SLOT_POST ? TRIBUNE_ACKNOWLEDGED : TRIBUNE_READY, NULL);
      result = *ret == NULL ? -ENOMEM : 0;
    }
    if (result == 0) {
      (*ret)->delegate = okay.delegate;
      (*ret)->count = okay.late;
    }
  } else if (frame->header.kind == WIRE_KIND_VERDICT) {
    result = message_of_verdict(frame, ret);
  } else if (frame->header.kind == WIRE_KIND_AWAITED) {
    result = message_of_awaited(frame, ret);
  }
  return result < 0 ? error_number(error, result) : 0;
}

/* If the program cannot learn the end of a hold or action, the connection ends: the end must not go unnoticed. */
static int end_slot(tribune_slot *slot, const tribune_error *error)
{
  bool is_silent = slot->callback == NULL && slot->refs == 0;
  if ((slot->kind == SLOT_HOLD || slot->kind == SLOT_ACTION) && is_silent && error->code != TRIBUNE_ERROR_EXPIRED) {
    bus_break(slot->bus, error);
    return 0;
  }
  tribune_message *message = message_of_error(error);
  if (message == NULL) {
    return -ENOMEM;
  }
  slot_pin(slot);
  slot_finish(slot);
  slot_deliver(slot, message);
  slot_unpin(slot);
  tribune_message_unref(message);
  return 0;
}

static int handle_reply(tribune *bus, struct frame *frame)
{
  tribune_error error;
  if (bus_is_closed_by(frame, &error)) {
    bus_break(bus, &error);
    return 0;
  }
  for (tribune_slot *slot = bus->retiring.first; slot != NULL; slot = slot->next) {
    if (slot->cancel_serial == frame->header.serial) {
      slot_finish(slot);
      return 0;
    }
  }
  tribune_slot *slot = slot_find(&bus->requests, frame->header.serial);
  bool is_request = slot != NULL;
  if (slot == NULL) {
    slot = slot_find(&bus->registrations, frame->header.serial);
  }
  if (slot == NULL) {
    return 0;
  }
  tribune_message *message = NULL;
  int result = dispatch_reply(slot, frame, &message, &error);
  if (result < 0) {
    bool is_refused = frame->header.kind == WIRE_KIND_ERROR && error.code != TRIBUNE_ERROR_PROTOCOL_VIOLATION;
    return is_refused ? end_slot(slot, &error) : result;
  }
  slot_pin(slot);
  if (is_request) {
    slot_complete(slot, message);
  } else if (slot->state == SLOT_PENDING) {
    slot_confirm(slot, frame, message);
  }
  slot_deliver(slot, message);
  slot_unpin(slot);
  tribune_message_unref(message);
  return 0;
}

static int handle_progress(tribune *bus, struct frame *frame)
{
  tribune_slot *slot = slot_find(&bus->requests, frame->header.serial);
  tribune_message *message;
  int result = slot == NULL ? 0 : message_of_progress(frame, &message);
  if (slot != NULL && result == 0) {
    slot_deliver(slot, message);
    tribune_message_unref(message);
  }
  return result;
}

static int handle_late(tribune *bus, struct frame *frame)
{
  tribune_slot *slot = slot_find(&bus->registrations, frame->header.serial);
  struct wire_reader reader = frame_fields(frame);
  struct wire_late late;
  wire_read_late(&reader, &late);
  if (reader.failed || slot == NULL || slot->kind != SLOT_HOLD) {
    return reader.failed ? -EBADMSG : 0;
  }
  tribune_message *message = message_new(TRIBUNE_LATE, NULL);
  if (message == NULL) {
    return -ENOMEM;
  }
  slot->late = late.actions;
  slot_deliver(slot, message);
  tribune_message_unref(message);
  return 0;
}

/* ---- Delegates ---- */

static int handle_question(tribune *bus, struct frame *frame)
{
  tribune_slot *slot = slot_find(&bus->registrations, frame->header.serial);
  tribune_message *message;
  int result = slot == NULL ? 0 : message_of_question(frame, &message);
  if (slot == NULL || result < 0) {
    return result;
  }
  message->slot = slot;
  message->is_open = true;
  message_list(message, bus);
  slot_deliver(slot, message);
  tribune_message_unref(message);
  return 0;
}

static int handle_concluded(tribune *bus, struct frame *frame)
{
  tribune_slot *slot = slot_find(&bus->registrations, frame->header.serial);
  tribune_message *message;
  int result = slot == NULL ? 0 : message_of_concluded(frame, &message);
  if (slot == NULL || result < 0) {
    return result;
  }
  for (tribune_message *question = bus->messages; question != NULL; question = question->next) {
    if (question->slot == slot && question->query == message->query && question->delegate == message->delegate) {
      message_unlist(question);
      break;
    }
  }
  slot_deliver(slot, message);
  tribune_message_unref(message);
  return 0;
}

/* A NULL slot means all slots. */
static void cancel_questions(tribune *bus, const tribune_slot *slot)
{
  tribune_message *question = bus->messages;
  while (question != NULL) {
    if (question->slot == NULL || (slot != NULL && question->slot != slot)) {
      question = question->next;
      continue;
    }
    tribune_slot *delegate = question->slot;
    tribune_message *message = message_new(TRIBUNE_CONCLUDED, NULL);
    if (message != NULL) {
      message->query = question->query;
      message->delegate = question->delegate;
      message->conclusion = TRIBUNE_CONCLUSION_CANCELLED;
    }
    message_unlist(question);
    if (message != NULL) {
      slot_deliver(delegate, message);
    }
    tribune_message_unref(message);
    /* The callback may have changed the list, so the search begins again. */
    question = bus->messages;
  }
}

static int handle_ended(tribune *bus, struct frame *frame)
{
  tribune_slot *slot = slot_find(&bus->registrations, frame->header.serial);
  struct wire_reader reader = frame_fields(frame);
  struct wire_ended ended;
  wire_read_ended(&reader, &ended);
  if (reader.failed) {
    return -EBADMSG;
  }
  if (slot == NULL) {
    return 0;
  }
  tribune_error error;
  switch (ended.what) {
  case WIRE_ENDED_WHAT_REPLACED:
    error_set(&error, -ESTALE, TRIBUNE_ERROR_REPLACED, "another delegate was set in its place: \"%.*s\", pid %u",
              (int)ended.replaced.delegate.label.length, (const char *)ended.replaced.delegate.label.data,
              ended.replaced.delegate.peer.pid);
    break;
  case WIRE_ENDED_WHAT_EXPIRED:
    error_set(&error, -ETIME, TRIBUNE_ERROR_EXPIRED, "the time of the hold is over");
    break;
  case WIRE_ENDED_WHAT_NOT_PERMITTED:
    error_set(&error, -EACCES, TRIBUNE_ERROR_NOT_PERMITTED, "%.*s", (int)ended.not_permitted.length,
              (const char *)ended.not_permitted.data);
    break;
  }
  slot_pin(slot);
  cancel_questions(bus, slot);
  int result = slot->state == SLOT_OVER || slot->state == SLOT_RETIRING ? 0 : end_slot(slot, &error);
  slot_unpin(slot);
  return result;
}

void dispatch_ending(tribune *bus)
{
  cancel_questions(bus, NULL);
  struct slot_list *lists[] = {&bus->requests, &bus->registrations, &bus->retiring};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    tribune_slot *slot;
    while ((slot = lists[i]->first) != NULL) {
      bool is_wanted = slot->state != SLOT_RETIRING;
      slot_pin(slot);
      slot_finish(slot);
      if (is_wanted) {
        slot_deliver(slot, bus->ending);
      }
      slot_unpin(slot);
    }
  }
  while (bus->messages != NULL) {
    message_unlist(bus->messages);
  }
}

int dispatch(tribune *bus, struct frame *frame)
{
  switch (frame->header.kind) {
  case WIRE_KIND_POST:
    bus->handled++;
    return deliver_post(bus, frame);
  case WIRE_KIND_RETAINED:
    bus->handled++;
    return deliver_retained(bus, frame);
  case WIRE_KIND_LOST: {
    struct wire_reader reader = frame_fields(frame);
    struct wire_lost lost;
    wire_read_lost(&reader, &lost);
    bus->handled += lost.count;
    return reader.failed ? -EBADMSG : deliver_lost(bus, frame, lost.count);
  }
  case KIND_DROPPED:
    bus->handled += frame->dropped;
    return deliver_lost(bus, frame, frame->dropped);
  case WIRE_KIND_OK:
  case WIRE_KIND_ERROR:
  case WIRE_KIND_VERDICT:
  case WIRE_KIND_AWAITED:
    return handle_reply(bus, frame);
  case WIRE_KIND_PROGRESS:
    return handle_progress(bus, frame);
  case WIRE_KIND_LATE:
    return handle_late(bus, frame);
  case WIRE_KIND_QUESTION:
    return handle_question(bus, frame);
  case WIRE_KIND_CONCLUDED:
    return handle_concluded(bus, frame);
  case WIRE_KIND_ENDED:
    return handle_ended(bus, frame);
  case WIRE_KIND_POSTER:
    return note_poster(bus, frame);
  case WIRE_KIND_ROOM:
    /* With this frame, a bus that has restarted asks for the limit. */
    return bus->limit > 0 ? bus_give_room(bus) : 0;
  default:
    /* An unknown frame is skipped, unless it is critical. */
    return (frame->header.flags & WIRE_FRAME_FLAGS_CRITICAL) != 0 ? -EBADMSG : 0;
  }
}
