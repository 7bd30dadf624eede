/* SPDX-License-Identifier: Apache-2.0 */
#include "delivery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bus.h"
#include "notifications.h"

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

int note_poster(tribune *bus, struct frame *frame)
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
  /* The bus gives each poster an index (slot), until another poster gets the slot. Posters of notifications
     that waited share the last slot. The other slots have low numbers, so the last one gets the place 0 here. */
  size_t place = slot == POSTER_SLOTS_MAX - 1 ? 0 : (size_t)slot + 1;
  if (place >= bus->poster_count) {
    size_t count = place * 2 + 16;
    struct poster **posters = realloc(bus->posters, count * sizeof(struct poster *));
    if (posters == NULL) {
      poster_unref(poster);
      return -ENOMEM;
    }
    memset(posters + bus->poster_count, 0, (count - bus->poster_count) * sizeof(struct poster *));
    bus->posters = posters;
    bus->poster_count = count;
  }
  poster_unref(bus->posters[place]);
  bus->posters[place] = poster;
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

/* The slots are pinned, because a callback can drop any of them. */
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

int deliver_lost(tribune *bus, const struct frame *frame, uint64_t count)
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

/* Each awaited observer has its own message, because each reports for itself. */
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
    /* An earlier callback may have dropped the slot or the connection. */
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

/* True if the bus may still wait for the report of a withdrawn observation. */
static bool is_retiring(const tribune *bus, const struct frame *frame)
{
  for (const tribune_slot *slot = bus->retiring.first; slot != NULL; slot = slot->next) {
    if (slot->is_awaited && slot_matches(slot, frame_name(frame), frame_object(frame))) {
      return true;
    }
  }
  return false;
}

int deliver_post(tribune *bus, struct frame *frame)
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
  if (is_awaited
      && (frame->is_unreadable ? receivers.awaited > 0 : receivers.awaited == 0 && is_retiring(bus, frame))) {
    const char *why = frame->is_unreadable ? "its userInfo could not be received" : "the observation was taken back";
    result = send_done(bus, frame->header.sender, frame->header.serial, true, why);
  }
  if (frame->is_unreadable) {
    /* A notification without its userInfo would mislead, so it counts as lost. */
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

int deliver_retained(tribune *bus, struct frame *frame)
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
  tribune_message *message = frame->is_unreadable ? message_new(TRIBUNE_LOST, NULL) : notification_of(bus, frame);
  if (message == NULL) {
    return -ENOMEM;
  }
  message->lost = frame->is_unreadable;
  slot_deliver(slot, message);
  tribune_message_unref(message);
  return 0;
}
