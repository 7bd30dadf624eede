/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bus.h"
#include "clock.h"
#include "error.h"
#include "names.h"
#include "notifications.h"

/* ---- Attaching ---- */

static size_t count_of(const char *const *texts)
{
  size_t count = 0;
  while (texts != NULL && texts[count] != NULL) {
    count++;
  }
  return count;
}

/* The caller frees the writer. */
static struct wire_elements elements_of(const char *const *texts, size_t count, struct wire_writer *writer)
{
  for (size_t i = 0; i < count; i++) {
    wire_write_text(writer, wire_text_of(texts[i]));
  }
  return (struct wire_elements){writer->data, writer->length, (uint32_t)count};
}

static int require_delegate(const tribune *bus, const char *const *patterns, const char *object,
                            const tribune_delegate_options *options)
{
  const unsigned known = TRIBUNE_DELEGATE_SET | TRIBUNE_DELEGATE_ABSTAIN_ON_FAILURE;
  size_t count = count_of(patterns);
  int result = bus_check(bus);
  if (result < 0) {
    return result;
  }
  if ((options->flags & ~known) != 0 || options->reserved32 != 0 || options->reserved[0] != 0
      || options->reserved[1] != 0 || count == 0 || count > WIRE_PATTERNS_PER_DELEGATE
      || count_of(options->protocols) > WIRE_PROTOCOLS_PER_DELEGATE
      || wire_text_of(options->label).length > WIRE_LABEL_LENGTH) {
    return -EINVAL;
  }
  for (size_t i = 0; i < count; i++) {
    if ((result = require_pattern(patterns[i], NULL)) < 0) {
      return result;
    }
  }
  for (size_t i = 0; i < count_of(options->protocols); i++) {
    if (strlen(options->protocols[i]) > WIRE_PROTOCOL_NAME_LENGTH) {
      return -EINVAL;
    }
  }
  result = require_object(object, NULL);
  return result < 0 ? result : bus_require_capacity(bus);
}

int tribune_delegate(tribune *bus, tribune_slot **ret, const char *const *patterns, const char *object,
                     const tribune_delegate_options *options, tribune_callback callback, void *userdata)
{
  static const tribune_delegate_options defaults;
  options = options == NULL ? &defaults : options;
  int result = callback == NULL ? -EINVAL : require_delegate(bus, patterns, object, options);
  if (result < 0) {
    return result;
  }
  tribune_slot *slot = slot_new(SLOT_DELEGATE, callback, userdata);
  if (slot == NULL || slot_set_terms(slot, patterns, count_of(patterns), object) < 0) {
    slot_free(slot);
    return -ENOMEM;
  }
  slot->serial = bus_next_serial(bus);
  struct wire_writer texts[2] = {{0}, {0}};
  struct wire_attach attach = {
      .order = options->order,
      .failure_policy = (options->flags & TRIBUNE_DELEGATE_ABSTAIN_ON_FAILURE) != 0 ? WIRE_FAILURE_POLICY_ABSTAIN
                                                                                    : WIRE_FAILURE_POLICY_VETO,
      .timeout = options->timeout_ms,
      .label = wire_text_of(options->label),
      .patterns = elements_of(patterns, count_of(patterns), &texts[0]),
      .is_set = (options->flags & TRIBUNE_DELEGATE_SET) != 0,
      .protocols = elements_of(options->protocols, count_of(options->protocols), &texts[1]),
  };
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_ATTACH, 0, slot->serial);
  wire_write_attach(&writer, &attach);
  frame_end(&writer, NULL, object, NULL, 0);
  writer.failed = writer.failed || texts[0].failed || texts[1].failed;
  wire_writer_free(&texts[0]);
  wire_writer_free(&texts[1]);
  return slot_send(slot, bus, &writer, ret);
}

/* ---- Answering ---- */

static int require_open(const tribune_message *question)
{
  if (question == NULL || question->type != TRIBUNE_QUESTION) {
    return -EINVAL;
  }
  return question->is_open ? bus_check(question->bus) : -ESTALE;
}

static int answer(tribune_message *question, enum wire_answer_kind kind, const void *payload, size_t length)
{
  int result = require_open(question);
  if (result < 0) {
    return result;
  }
  struct wire_answer fields = {.query = question->query, .delegate = question->delegate, .answer = kind};
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_ANSWER, 0, bus_next_serial(question->bus));
  wire_write_answer(&writer, &fields);
  frame_end(&writer, NULL, NULL, payload, length);
  result = bus_send(question->bus, &writer, -1, 0);
  if (result == 0) {
    question->is_open = false;
  }
  return result;
}

int tribune_approve(tribune_message *question)
{
  return answer(question, WIRE_ANSWER_KIND_APPROVE, NULL, 0);
}

int tribune_veto(tribune_message *question, const char *reason)
{
  return answer(question, WIRE_ANSWER_KIND_VETO, reason, reason_length(reason));
}

int tribune_abstain(tribune_message *question)
{
  return answer(question, WIRE_ANSWER_KIND_ABSTAIN, NULL, 0);
}

int tribune_fail(tribune_message *question, const char *reason)
{
  if (question != NULL && question->is_awaited) {
    return acknowledge(question, reason == NULL ? "" : reason);
  }
  return answer(question, WIRE_ANSWER_KIND_FAILED, reason, reason_length(reason));
}

int tribune_answer_value(tribune_message *question, const void *value, size_t size)
{
  int result = require_open(question);
  if (result == 0) {
    result = question->wants_value ? bus_require_payload(question->bus, value, &size) : -EINVAL;
  }
  return result < 0 ? result : answer(question, WIRE_ANSWER_KIND_VALUE, value, size);
}

int tribune_defer(tribune_message *question, uint32_t extension_ms, const char *status)
{
  int result = require_open(question);
  if (result < 0) {
    return result;
  }
  struct wire_defer fields = {.query = question->query, .delegate = question->delegate, .extension = extension_ms};
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_DEFER, 0, bus_next_serial(question->bus));
  wire_write_defer(&writer, &fields);
  frame_end(&writer, NULL, NULL, status, reason_length(status));
  return bus_send(question->bus, &writer, -1, 0);
}

/* ---- Holding ---- */

int tribune_hold(tribune *bus, tribune_slot **ret, const char *pattern, const char *object, const char *why,
                 const tribune_hold_options *options, tribune_callback callback, void *userdata)
{
  static const tribune_hold_options defaults;
  options = options == NULL ? &defaults : options;
  int result = bus_check(bus);
  if (result < 0) {
    return result;
  }
  pattern = pattern == NULL ? "**" : pattern;
  uint64_t now = now_usec();
  if (why == NULL || why[0] == '\0' || options->reserved[0] != 0 || options->reserved[1] != 0
      || wire_text_of(options->label).length > WIRE_LABEL_LENGTH
      || options->lifetime_ms > INT64_MAX / 1000000 - now / 1000 - 1) {
    return -EINVAL;
  }
  if ((result = require_pattern(pattern, NULL)) < 0 || (result = require_object(object, NULL)) < 0
      || (result = bus_require_capacity(bus)) < 0) {
    return result;
  }
  tribune_slot *slot = slot_new(SLOT_HOLD, callback, userdata);
  if (slot == NULL || slot_set_terms(slot, &pattern, 1, object) < 0) {
    slot_free(slot);
    return -ENOMEM;
  }
  slot->serial = bus_next_serial(bus);
  struct wire_hold hold = {
      .expiry = options->lifetime_ms == 0 ? 0 : now * 1000 + options->lifetime_ms * 1000000,
      .label = wire_text_of(options->label),
  };
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_HOLD, 0, slot->serial);
  wire_write_hold(&writer, &hold);
  frame_end(&writer, pattern, object, why, reason_length(why));
  return slot_send(slot, bus, &writer, ret);
}

int tribune_hold_update(tribune_slot *hold, const char *why)
{
  if (hold == NULL || hold->kind != SLOT_HOLD || why == NULL || why[0] == '\0') {
    return -EINVAL;
  }
  int result = tribune_slot_is_in_force(hold);
  if (result < 0 || (result = bus_require_capacity(hold->bus)) < 0) {
    return result;
  }
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_AMEND, 0, bus_next_serial(hold->bus));
  wire_write_amend(&writer, &(struct wire_amend){.target = hold->serial});
  frame_end(&writer, NULL, NULL, why, reason_length(why));
  return bus_send(hold->bus, &writer, -1, 0);
}

uint32_t tribune_hold_get_late(tribune_slot *hold)
{
  if (hold == NULL || hold->kind != SLOT_HOLD || hold->bus == NULL) {
    return 0;
  }
  uint32_t count = hold->late;
  for (const struct frame *frame = hold->bus->inbox.first; frame != NULL; frame = frame->next) {
    if (frame->header.kind == WIRE_KIND_LATE && frame->header.serial == hold->serial) {
      struct wire_reader reader = frame_fields(frame);
      struct wire_late late;
      wire_read_late(&reader, &late);
      count = reader.failed ? count : late.actions;
    }
  }
  return count;
}

int tribune_hold_wait(tribune_slot *hold, uint64_t timeout_usec, tribune_error *error)
{
  if (hold == NULL || hold->kind != SLOT_HOLD) {
    return error_number(error, -EINVAL);
  }
  uint64_t until_usec = usec_from_now(timeout_usec);
  int result = tribune_slot_wait(hold, timeout_usec, error);
  while (result == 0 && tribune_hold_get_late(hold) > 0) {
    result = bus_pump(hold->bus, until_usec);
    if (result == -ETIMEDOUT) {
      return error_set(error, result, TRIBUNE_ERROR_TIMED_OUT, "an action that began before the hold is under way");
    }
    result = result < 0 ? error_number(error, result) : tribune_slot_wait(hold, 0, error);
  }
  return result;
}
