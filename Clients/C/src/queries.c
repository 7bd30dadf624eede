/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <string.h>

#include "bus.h"
#include "error.h"
#include "names.h"
#include "notifications.h"

#define ASK_FLAGS (TRIBUNE_ASK_DRY_RUN | TRIBUNE_ASK_VETO_BY_DEFAULT | TRIBUNE_ASK_PROGRESS | TRIBUNE_ASK_BEGIN)

_Static_assert((int)TRIBUNE_MODE_COLLECT == (int)WIRE_QUERY_MODE_COLLECT, "");
_Static_assert((int)TRIBUNE_OUTCOME_ANSWERED == (int)WIRE_OUTCOME_KIND_ANSWERED, "");
_Static_assert((int)TRIBUNE_STAGE_SETTLED == (int)WIRE_PROGRESS_STAGE_SETTLED, "");
_Static_assert((int)TRIBUNE_CONCLUSION_CANCELLED == (int)WIRE_CONCLUSION_KIND_CANCELLED, "");

static const tribune_ask_options defaults;

static int begin_ask(tribune *bus, const char *name, const char *object, const void *user_info, size_t size,
                     const tribune_ask_options *options, tribune_callback callback, void *userdata, tribune_slot **ret,
                     tribune_error *error)
{
  options = options == NULL ? &defaults : options;
  int result = bus_check(bus);
  if (result < 0) {
    return error_number(error, result);
  }
  if ((options->flags & ~ASK_FLAGS) != 0 || options->mode > TRIBUNE_MODE_COLLECT || options->reserved[0] != 0
      || options->reserved[1] != 0) {
    return error_set(error, -EINVAL, TRIBUNE_ERROR_INVALID_ARGUMENT, "options that this version does not have");
  }
  if (wire_text_of(options->override_reason).length > WIRE_REASON_LENGTH) {
    return error_set(error, -EINVAL, TRIBUNE_ERROR_INVALID_ARGUMENT, "the reason of an override is too long");
  }
  if ((result = require_name(name, error)) < 0 || (result = require_object(object, error)) < 0) {
    return result;
  }
  if ((result = bus_require_payload(bus, user_info, &size)) < 0 || (result = bus_require_capacity(bus)) < 0) {
    return error_number(error, result);
  }
  bool begins = (options->flags & TRIBUNE_ASK_BEGIN) != 0;
  tribune_slot *slot = slot_new(begins ? SLOT_BEGINNING : SLOT_ASK, callback, userdata);
  if (slot == NULL) {
    return error_number(error, -ENOMEM);
  }
  slot->serial = bus_next_serial(bus);
  unsigned flags = ((options->flags & TRIBUNE_ASK_DRY_RUN) != 0 ? WIRE_QUERY_FLAGS_IS_DRY_RUN : 0u)
                   | ((options->flags & TRIBUNE_ASK_PROGRESS) != 0 ? WIRE_QUERY_FLAGS_WANTS_PROGRESS : 0u)
                   | (begins ? WIRE_QUERY_FLAGS_BEGINS : 0u)
                   | (options->override_reason != NULL ? WIRE_QUERY_FLAGS_OVERRIDES : 0u);
  struct wire_ask ask = {
      .deadline = options->deadline_ms,
      .mode = (enum wire_query_mode)options->mode,
      .fallback =
          (options->flags & TRIBUNE_ASK_VETO_BY_DEFAULT) != 0 ? WIRE_VERDICT_KIND_VETOED : WIRE_VERDICT_KIND_ALLOWED,
      .parent = options->parent,
      .flags = (uint8_t)flags,
      .override_reason = wire_text_of(options->override_reason),
      .slots = options->slots,
  };
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_ASK, 0, slot->serial);
  wire_write_ask(&writer, &ask);
  frame_end(&writer, name, object, user_info, size);
  result = slot_send(slot, bus, &writer, ret);
  return result < 0 ? error_number(error, result) : 0;
}

int tribune_ask_async(tribune *bus, tribune_slot **ret, const char *name, const char *object, const void *user_info,
                      size_t size, const tribune_ask_options *options, tribune_callback callback, void *userdata)
{
  return begin_ask(bus, name, object, user_info, size, options, callback, userdata, ret, NULL);
}

/* `action` gets the slot of an action that has begun. If it is NULL, the action lasts as long as the connection. */
static int ask_and_wait(tribune *bus, tribune_slot **action, const char *name, const char *object,
                        const void *user_info, size_t size, const tribune_ask_options *options, tribune_message **ret,
                        tribune_error *error)
{
  tribune_slot *slot;
  tribune_message *message;
  uint64_t until_usec = bus == NULL ? 0 : bus_deadline_usec(bus, options == NULL ? 0 : options->deadline_ms);
  bus_await_capacity(bus, until_usec);
  int result = begin_ask(bus, name, object, user_info, size, options, NULL, NULL, &slot, error);
  if (result < 0) {
    return result;
  }
  result = bus_await_result(bus, tribune_slot_ref(slot), until_usec, &message, error);
  if (result == 0) {
    result = message->is_allowed;
    if (ret != NULL) {
      *ret = message;
    } else {
      tribune_message_unref(message);
    }
  }
  if (result > 0 && action != NULL) {
    *action = slot;
  } else {
    slot->is_floating = result > 0;
    tribune_slot_unref(slot);
  }
  return result;
}

int tribune_ask(tribune *bus, const char *name, const char *object, const void *user_info, size_t size,
                const tribune_ask_options *options, tribune_message **ret, tribune_error *error)
{
  return ask_and_wait(bus, NULL, name, object, user_info, size, options, ret, error);
}

/* ---- Actions under way ---- */

int tribune_begin(tribune *bus, tribune_slot **ret, const char *name, const char *object, const void *user_info,
                  size_t size, const tribune_ask_options *options, tribune_message **ret_verdict, tribune_error *error)
{
  tribune_ask_options beginning = options == NULL ? defaults : *options;
  beginning.flags |= TRIBUNE_ASK_BEGIN;
  if (ret != NULL) {
    *ret = NULL;
  }
  return ask_and_wait(bus, ret, name, object, user_info, size, &beginning, ret_verdict, error);
}

int tribune_continue(tribune *bus, tribune_slot **ret, const char *name, const char *object, tribune_callback callback,
                     void *userdata)
{
  int result = bus_check(bus);
  if (result < 0 || (result = require_name(name, NULL)) < 0 || (result = require_object(object, NULL)) < 0
      || (result = bus_require_capacity(bus)) < 0) {
    return result;
  }
  tribune_slot *slot = slot_new(SLOT_ACTION, callback, userdata);
  if (slot == NULL) {
    return -ENOMEM;
  }
  slot->serial = bus_next_serial(bus);
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_BEGIN, 0, slot->serial);
  wire_write_begin(&writer, &(struct wire_begin){0});
  frame_end(&writer, name, object, NULL, 0);
  return slot_send(slot, bus, &writer, ret);
}
