/* SPDX-License-Identifier: Apache-2.0 */
#include "slot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bus.h"
#include "clock.h"
#include "error.h"
#include "names.h"

/* The limit of reads in tribune_slot_is_in_force(): a flood of input must not delay its result. */
#define READS_MAX 64u

tribune_slot *slot_new(enum slot_kind kind, tribune_callback callback, void *userdata)
{
  tribune_slot *slot = calloc(1, sizeof *slot);
  if (slot != NULL) {
    slot->kind = kind;
    slot->state = SLOT_PENDING;
    slot->callback = callback;
    slot->userdata = userdata;
  }
  return slot;
}

void slot_free(tribune_slot *slot)
{
  if (slot != NULL) {
    free(slot->terms);
    free(slot);
  }
}

int slot_set_terms(tribune_slot *slot, const char *const *patterns, size_t count, const char *object)
{
  size_t length = (object == NULL ? 0 : strlen(object)) + 1;
  for (size_t i = 0; i < count; i++) {
    length += strlen(patterns[i]) + 1;
  }
  char *at = slot->terms = malloc(length);
  if (at == NULL) {
    return -ENOMEM;
  }
  for (size_t i = 0; i < count; i++) {
    at = stpcpy(at, patterns[i]) + 1;
  }
  strcpy(at, object == NULL ? "" : object);
  slot->object = at;
  slot->pattern_count = count;
  return 0;
}

static bool is_registration(const tribune_slot *slot)
{
  return slot->kind == SLOT_OBSERVATION || slot->kind == SLOT_DELEGATE || slot->kind == SLOT_HOLD
         || slot->kind == SLOT_ACTION;
}

static void append(struct slot_list *list, tribune_slot *slot)
{
  slot->list = list;
  slot->previous = list->last;
  slot->next = NULL;
  *(list->last == NULL ? &list->first : &list->last->next) = slot;
  list->last = slot;
}

static void unlist(tribune_slot *slot)
{
  struct slot_list *list = slot->list;
  *(slot->previous == NULL ? &list->first : &slot->previous->next) = slot->next;
  *(slot->next == NULL ? &list->last : &slot->next->previous) = slot->previous;
  slot->list = NULL;
}

void slot_begin(tribune_slot *slot, tribune *bus, tribune_slot **ret)
{
  slot->bus = bus;
  append(is_registration(slot) ? &bus->registrations : &bus->requests, slot);
  if (ret != NULL) {
    slot->refs = 1;
    *ret = slot;
  } else {
    slot->is_floating = true;
  }
}

int slot_send(tribune_slot *slot, tribune *bus, struct wire_writer *writer, tribune_slot **ret)
{
  int result = bus_send(bus, writer, -1, 0);
  if (result < 0) {
    slot_free(slot);
    return result;
  }
  slot_begin(slot, bus, ret);
  return 0;
}

static void free_if_unused(tribune_slot *slot)
{
  if (slot->refs == 0 && slot->pins == 0 && slot->state == SLOT_OVER) {
    slot_free(slot);
  }
}

static void withdraw_questions(tribune_slot *slot)
{
  tribune_message *next;
  for (tribune_message *message = slot->bus->messages; message != NULL; message = next) {
    next = message->next;
    if (message->slot == slot) {
      message_unlist(message);
    }
  }
}

void slot_finish(tribune_slot *slot)
{
  if (slot->state != SLOT_OVER) {
    withdraw_questions(slot);
    unlist(slot);
    slot->state = SLOT_OVER;
    slot->bus = NULL;
  }
  free_if_unused(slot);
}

void slot_confirm(tribune_slot *slot, const struct frame *frame, const tribune_message *ready)
{
  slot->state = SLOT_IN_FORCE;
  slot->live_since = frame->sequence;
  slot->id = ready->delegate;
  slot->late = ready->count;
}

void slot_complete(tribune_slot *slot, const tribune_message *reply)
{
  if (slot->kind != SLOT_BEGINNING || reply == NULL || !reply->is_allowed) {
    slot_finish(slot);
    return;
  }
  unlist(slot);
  append(&slot->bus->registrations, slot);
  slot->kind = SLOT_ACTION;
  slot->state = SLOT_IN_FORCE;
}

void slot_pin(tribune_slot *slot)
{
  slot->pins++;
}

void slot_unpin(tribune_slot *slot)
{
  slot->pins--;
  free_if_unused(slot);
}

void slot_deliver(tribune_slot *slot, tribune_message *message)
{
  if (slot->callback != NULL) {
    slot_pin(slot);
    slot->callback(slot, message, slot->userdata);
    slot_unpin(slot);
  }
}

bool slot_matches(const tribune_slot *slot, const char *name, const char *object)
{
  if (slot->kind != SLOT_OBSERVATION && (slot->kind != SLOT_DELEGATE || !name_is_will_or_did(name))) {
    return false;
  }
  /* For delegates, a notification without an object concerns all objects. */
  bool is_every = slot->kind == SLOT_DELEGATE && object[0] == '\0';
  if (slot->object[0] != '\0' && !is_every && strcmp(slot->object, object) != 0) {
    return false;
  }
  const char *pattern = slot->terms;
  for (size_t i = 0; i < slot->pattern_count; i++) {
    if (pattern_matches(pattern, name)) {
      return true;
    }
    pattern += strlen(pattern) + 1;
  }
  return false;
}

bool slot_receives(const tribune_slot *slot)
{
  if (slot->kind != SLOT_DELEGATE) {
    return slot->kind == SLOT_OBSERVATION;
  }
  const char *pattern = slot->terms;
  for (size_t i = 0; i < slot->pattern_count; i++) {
    if (pattern_can_match_will_or_did(pattern)) {
      return true;
    }
    pattern += strlen(pattern) + 1;
  }
  return false;
}

tribune_slot *slot_find(const struct slot_list *list, uint64_t serial)
{
  for (tribune_slot *slot = list->first; slot != NULL; slot = slot->next) {
    if (slot->serial == serial) {
      return slot;
    }
  }
  return NULL;
}

static void retire(tribune_slot *slot)
{
  tribune *bus = slot->bus;
  if (bus_check(bus) < 0 || slot->kind == SLOT_POST || slot->kind == SLOT_FLUSH) {
    slot_finish(slot);
    return;
  }
  withdraw_questions(slot);
  unlist(slot);
  append(&bus->retiring, slot);
  slot->state = SLOT_RETIRING;
  slot->cancel_serial = bus_next_serial(bus);
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_CANCEL, 0, slot->cancel_serial);
  wire_write_cancel(&writer, &(struct wire_cancel){.target = slot->serial});
  frame_end(&writer, NULL, NULL, NULL, 0);
  int result = bus_send(bus, &writer, -1, 0);
  if (result < 0) {
    tribune_error error;
    error_system(&error, result, "a registration could not be taken back");
    bus_break(bus, &error);
  }
}

tribune_slot *tribune_slot_ref(tribune_slot *slot)
{
  if (slot != NULL) {
    slot->refs++;
  }
  return slot;
}

tribune_slot *tribune_slot_unref(tribune_slot *slot)
{
  if (slot == NULL || --slot->refs > 0) {
    return NULL;
  }
  if (slot->state == SLOT_OVER) {
    free_if_unused(slot);
  } else if (!slot->is_floating) {
    retire(slot);
  }
  return NULL;
}

static int check(const tribune_slot *slot)
{
  return slot->bus == NULL ? -ENOTCONN : bus_check(slot->bus);
}

/* Puts a registration in force. The frame stays in the inbox, for the callback. */
static int confirm(tribune_slot *slot, struct frame *frame, tribune_error *error)
{
  tribune_message *message = NULL;
  int result = dispatch_reply(slot, frame, &message, error);
  if (result == 0) {
    slot_confirm(slot, frame, message);
  }
  tribune_message_unref(message);
  return result;
}

int tribune_slot_is_in_force(tribune_slot *slot)
{
  if (slot == NULL) {
    return -EINVAL;
  }
  int result = check(slot);
  if (result < 0 || !is_registration(slot)) {
    return result;
  }
  for (unsigned i = 0; i < READS_MAX && bus_read(slot->bus); i++) {
  }
  for (struct frame *frame = slot->bus->inbox.first; frame != NULL; frame = frame->next) {
    uint8_t kind = frame->header.kind;
    if (frame->header.serial != slot->serial) {
      continue;
    }
    if (slot->state == SLOT_PENDING && (kind == WIRE_KIND_OK || kind == WIRE_KIND_ERROR)) {
      result = confirm(slot, frame, NULL);
    }
    if (kind == WIRE_KIND_ENDED || (result < 0 && result != -ENOMEM)) {
      return -ENOTCONN;
    }
  }
  return slot->bus->is_input_over ? -ENOTCONN : slot->state == SLOT_IN_FORCE;
}

uint64_t tribune_slot_get_id(tribune_slot *slot)
{
  return slot == NULL ? 0 : slot->id;
}

tribune *tribune_slot_get_bus(tribune_slot *slot)
{
  return slot == NULL ? NULL : slot->bus;
}

int tribune_slot_wait(tribune_slot *slot, uint64_t timeout_usec, tribune_error *error)
{
  if (slot == NULL || !is_registration(slot)) {
    return error_number(error, -EINVAL);
  }
  int result = check(slot);
  if (result == 0 && slot->state == SLOT_PENDING) {
    struct frame **link;
    result = bus_await_reply(slot->bus, slot->serial, usec_from_now(timeout_usec), &link, error);
    return result < 0 ? result : confirm(slot, *link, error);
  }
  if (result == 0) {
    result = tribune_slot_is_in_force(slot);
  }
  return result < 0 ? error_number(error, result) : 0;
}
