/* SPDX-License-Identifier: Apache-2.0 */

/* Brings each frame to the slots that it is for. A frame for none is no error: a `cancel` and a reply can cross. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bus.h"
#include "error.h"
#include "names.h"
#include "notifications.h"

/* More slots than a bus has. */
#define POSTER_SLOTS_MAX (1u << 20)

/* ---- Who posts ---- */

static struct poster *poster_of(const tribune *bus, uint64_t connection)
{
  for (size_t i = 0; i < bus->poster_count; i++) {
    if (bus->posters[i] != NULL && bus->posters[i]->connection == connection) {
      return bus->posters[i];
    }
  }
  return NULL;
}

static int note_poster(tribune *bus, struct frame *frame)
{
  struct poster *poster;
  uint32_t slot;
  int result = poster_new(frame, &poster, &slot);
  if (result < 0) {
    return result;
  }
  if (slot >= POSTER_SLOTS_MAX) {
    poster_unref(poster);
    return -EBADMSG;
  }
  if (slot >= bus->poster_count) {
    size_t count = (size_t)slot * 2 + 16;
    struct poster **posters = realloc(bus->posters, count * sizeof(struct poster *));
    if (posters == NULL) {
      poster_unref(poster);
      return -ENOMEM;
    }
    memset(posters + bus->poster_count, 0, (count - bus->poster_count) * sizeof(struct poster *));
    bus->posters = posters;
    bus->poster_count = count;
  }
  /* It may have had another slot before. */
  for (size_t i = 0; i < bus->poster_count; i++) {
    if (i == slot || (bus->posters[i] != NULL && bus->posters[i]->connection == poster->connection)) {
      poster_unref(bus->posters[i]);
      bus->posters[i] = NULL;
    }
  }
  bus->posters[slot] = poster;
  return 0;
}

void posters_free(tribune *bus)
{
  for (size_t i = 0; i < bus->poster_count; i++) {
    poster_unref(bus->posters[i]);
  }
  free(bus->posters);
  bus->posters = NULL;
  bus->poster_count = 0;
}

/* ---- Notifications ---- */

/* The slots that a frame is for, each pinned. A callback can take back any of them. */
struct receivers {
  tribune_slot **slots;
  size_t count;
  size_t awaited;
};

static bool is_for(const tribune_slot *slot, const struct frame *frame)
{
  return slot->state == SLOT_IN_FORCE && frame->sequence > slot->live_since
         && (frame->header.kind == WIRE_KIND_POST ? slot_matches(slot, frame_name(frame), frame_object(frame))
                                                   : slot_receives(slot));
}

static int collect(const tribune *bus, const struct frame *frame, struct receivers *receivers)
{
  *receivers = (struct receivers){0};
  for (tribune_slot *slot = bus->registrations.first; slot != NULL; slot = slot->next) {
    receivers->count += is_for(slot, frame);
  }
  receivers->slots = calloc(receivers->count, sizeof(tribune_slot *));
  if (receivers->slots == NULL && receivers->count > 0) {
    return -ENOMEM;
  }
  receivers->count = 0;
  for (tribune_slot *slot = bus->registrations.first; slot != NULL; slot = slot->next) {
    if (is_for(slot, frame)) {
      slot_pin(slot);
      receivers->slots[receivers->count++] = slot;
      receivers->awaited += slot->is_awaited;
    }
  }
  return 0;
}

static void release(struct receivers *receivers)
{
  for (size_t i = 0; i < receivers->count; i++) {
    slot_unpin(receivers->slots[i]);
  }
  free(receivers->slots);
}

static void deliver_to_all(const struct receivers *receivers, tribune_message *message, bool is_for_awaited)
{
  for (size_t i = 0; i < receivers->count; i++) {
    if (receivers->slots[i]->state == SLOT_IN_FORCE && (is_for_awaited || !receivers->slots[i]->is_awaited)) {
      slot_deliver(receivers->slots[i], message);
    }
  }
}

/* Reports that notifications were dropped. */
static int deliver_lost(tribune *bus, const struct frame *frame, uint64_t count)
{
  struct receivers receivers;
  int result = count == 0 ? 0 : collect(bus, frame, &receivers);
  if (result < 0 || count == 0) {
    return result;
  }
  tribune_message *message = message_new(TRIBUNE_LOST, NULL);
  if (message != NULL) {
    message->lost = count;
    deliver_to_all(&receivers, message, true);
  }
  release(&receivers);
  tribune_message_unref(message);
  return message == NULL ? -ENOMEM : 0;
}

/* Each awaited observer has a message of its own, because each reports. */
static int deliver_awaited(tribune *bus, struct frame *frame, const struct receivers *receivers)
{
  struct acknowledgement *acknowledgement;
  int result = acknowledgement_new(frame, receivers->awaited, &acknowledgement);
  if (result < 0) {
    return result;
  }
  for (size_t i = 0; i < receivers->count; i++) {
    tribune_slot *slot = receivers->slots[i];
    if (!slot->is_awaited) {
      continue;
    }
    /* After the end of the connection, and for an observer that was taken back, there is nobody to report. */
    tribune_message *message = bus->phase == PHASE_ENDED ? NULL : message_new(TRIBUNE_NOTIFICATION, frame);
    if (message == NULL || slot->state != SLOT_IN_FORCE) {
      acknowledgement_settle(bus, acknowledgement, "the observation was taken back");
      result = message == NULL && bus->phase != PHASE_ENDED ? -ENOMEM : result;
    } else {
      acknowledgement_attach(bus, acknowledgement, message);
      struct poster *poster = poster_of(bus, frame->header.sender);
      if (poster != NULL) {
        poster->refs++;
        message->poster = poster;
      }
      slot_deliver(slot, message);
    }
    tribune_message_unref(message);
  }
  return result;
}

static tribune_message *notification_of(const tribune *bus, struct frame *frame)
{
  tribune_message *message = message_new(TRIBUNE_NOTIFICATION, frame);
  struct poster *poster = message == NULL ? NULL : poster_of(bus, frame->header.sender);
  if (poster != NULL) {
    poster->refs++;
    message->poster = poster;
  }
  return message;
}

/* Whether the bus may wait for an observation that is being taken back. */
static bool is_retiring(const tribune *bus, const struct frame *frame)
{
  for (const tribune_slot *slot = bus->retiring.first; slot != NULL; slot = slot->next) {
    if (slot->is_awaited && slot_matches(slot, frame_name(frame), frame_object(frame))) {
      return true;
    }
  }
  return false;
}

static int deliver_post(tribune *bus, struct frame *frame)
{
  struct wire_reader reader = frame_fields(frame);
  struct wire_post post;
  wire_read_post(&reader, &post);
  if (reader.failed) {
    return -EBADMSG;
  }
  bool is_awaited = (post.options & WIRE_POST_OPTIONS_AWAITED) != 0;
  struct receivers receivers;
  int result = collect(bus, frame, &receivers);
  if (result < 0) {
    return result;
  }
  if (is_awaited && (frame->is_unreadable ? receivers.awaited > 0 : receivers.awaited == 0 && is_retiring(bus, frame))) {
    const char *why = frame->is_unreadable ? "its userInfo could not be received" : "the observation was taken back";
    result = send_done(bus, frame->header.sender, frame->header.serial, true, why);
  }
  if (frame->is_unreadable) {
    /* Without its userInfo, it is not the notification that was posted. */
    release(&receivers);
    return result < 0 ? result : deliver_lost(bus, frame, 1);
  }
  if (result == 0 && receivers.count > (is_awaited ? receivers.awaited : 0)) {
    tribune_message *message = notification_of(bus, frame);
    result = message == NULL ? -ENOMEM : 0;
    deliver_to_all(&receivers, message, !is_awaited);
    tribune_message_unref(message);
  }
  if (result == 0 && is_awaited && receivers.awaited > 0) {
    result = deliver_awaited(bus, frame, &receivers);
  }
  release(&receivers);
  return result;
}

static int deliver_retained(tribune *bus, struct frame *frame)
{
  struct wire_reader reader = frame_fields(frame);
  struct wire_retained retained;
  wire_read_retained(&reader, &retained);
  if (reader.failed) {
    return -EBADMSG;
  }
  tribune_slot *slot = slot_find(&bus->registrations, frame->header.serial);
  if (slot == NULL) {
    return 0;
  }
  tribune_message *message =
    frame->is_unreadable ? message_new(TRIBUNE_LOST, NULL) : notification_of(bus, frame);
  if (message == NULL) {
    return -ENOMEM;
  }
  message->lost = frame->is_unreadable;
  slot_deliver(slot, message);
  tribune_message_unref(message);
  return 0;
}

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
    if (!reader.failed && slot->kind != SLOT_POST && okay.registration != 0 && okay.registration != slot->serial) {
      return error_set(error, -EEXIST, TRIBUNE_ERROR_DUPLICATE,
                       "another delegate of this connection responds to the same names of that object");
    }
    if (!reader.failed) {
      *ret = message_new(slot->kind == SLOT_POST ? TRIBUNE_ACKNOWLEDGED : TRIBUNE_READY, NULL);
      result = *ret == NULL ? -ENOMEM : 0;
    }
    if (result == 0) {
      (*ret)->delegate = okay.delegate;
    }
  } else if (frame->header.kind == WIRE_KIND_VERDICT) {
    result = message_of_verdict(frame, ret);
  } else if (frame->header.kind == WIRE_KIND_AWAITED) {
    result = message_of_awaited(frame, ret);
  }
  return result < 0 ? error_number(error, result) : 0;
}

/* The slot is over, and its callback receives why. */
static int end_slot(tribune_slot *slot, const tribune_error *error)
{
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
    bool is_of_slot = frame->header.kind == WIRE_KIND_ERROR || error.code == TRIBUNE_ERROR_DUPLICATE;
    return is_of_slot && error.code != TRIBUNE_ERROR_PROTOCOL_VIOLATION ? end_slot(slot, &error) : result;
  }
  slot_pin(slot);
  if (is_request) {
    slot_finish(slot);
  } else if (slot->state == SLOT_PENDING) {
    slot->state = SLOT_IN_FORCE;
    slot->live_since = frame->sequence;
    slot->id = message->delegate;
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

/* Delegates that cannot learn how their queries end are told that these are cancelled. */
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
    /* The callback can have changed the list. */
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
    return deliver_post(bus, frame);
  case WIRE_KIND_RETAINED:
    return deliver_retained(bus, frame);
  case WIRE_KIND_LOST: {
    struct wire_reader reader = frame_fields(frame);
    struct wire_lost lost;
    wire_read_lost(&reader, &lost);
    return reader.failed ? -EBADMSG : deliver_lost(bus, frame, lost.count);
  }
  case KIND_DROPPED:
    return deliver_lost(bus, frame, frame->dropped);
  case WIRE_KIND_OK:
  case WIRE_KIND_ERROR:
  case WIRE_KIND_VERDICT:
  case WIRE_KIND_AWAITED:
    return handle_reply(bus, frame);
  case WIRE_KIND_PROGRESS:
    return handle_progress(bus, frame);
  case WIRE_KIND_QUESTION:
    return handle_question(bus, frame);
  case WIRE_KIND_CONCLUDED:
    return handle_concluded(bus, frame);
  case WIRE_KIND_ENDED:
    return handle_ended(bus, frame);
  case WIRE_KIND_POSTER:
    return note_poster(bus, frame);
  default:
    /* Kinds of later versions are skipped, unless the bus says that it cannot continue without. */
    return (frame->header.flags & WIRE_FRAME_FLAGS_CRITICAL) != 0 ? -EBADMSG : 0;
  }
}
