/* SPDX-License-Identifier: Apache-2.0 */
#include "notifications.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bus.h"
#include "error.h"
#include "memory.h"
#include "names.h"

#define POST_FLAGS                                                                                                  \
  (TRIBUNE_POST_IMMEDIATELY | TRIBUNE_POST_RETAIN | TRIBUNE_POST_COALESCE_BY_NAME | TRIBUNE_POST_COALESCE_BY_OBJECT \
   | TRIBUNE_POST_BOUND)

_Static_assert((int)TRIBUNE_POST_IMMEDIATELY == (int)WIRE_POST_OPTIONS_IMMEDIATELY, "");
_Static_assert((int)TRIBUNE_POST_RETAIN == (int)WIRE_POST_OPTIONS_RETAIN, "");
_Static_assert((int)TRIBUNE_POST_BOUND == (int)WIRE_POST_OPTIONS_BOUND, "");
_Static_assert((int)TRIBUNE_POST_COALESCE_BY_NAME == (int)WIRE_POST_OPTIONS_COALESCE_BY_NAME, "");
_Static_assert((int)TRIBUNE_POST_COALESCE_BY_OBJECT == (int)WIRE_POST_OPTIONS_COALESCE_BY_OBJECT, "");
_Static_assert((int)TRIBUNE_STYLE_WHEN_IDLE == (int)WIRE_POSTING_STYLE_WHEN_IDLE, "");
_Static_assert((int)TRIBUNE_OBSERVE_RETAINED == (int)WIRE_OBSERVE_OPTIONS_RETAINED, "");
_Static_assert((int)TRIBUNE_OBSERVE_AWAITED == (int)WIRE_OBSERVE_OPTIONS_AWAITED, "");
_Static_assert((int)TRIBUNE_FAILURE_FAILED == (int)WIRE_OBSERVER_FAILURE_FAILED, "");

/* ---- Posting ---- */

struct posting {
  const char *name;
  const char *object;
  const void *user_info;
  size_t size;
  const tribune_post_options *options;
};

static int require_posting(const tribune *bus, struct posting *posting, tribune_error *error)
{
  static const tribune_post_options defaults;
  posting->options = posting->options == NULL ? &defaults : posting->options;
  const tribune_post_options *options = posting->options;
  int result = bus_check(bus);
  if (result < 0) {
    return error_number(error, result);
  }
  if ((options->flags & ~POST_FLAGS) != 0 || options->style > TRIBUNE_STYLE_WHEN_IDLE || options->reserved32 != 0
      || options->reserved[0] != 0 || options->reserved[1] != 0) {
    return error_set(error, -EINVAL, TRIBUNE_ERROR_INVALID_ARGUMENT, "options that this version does not have");
  }
  if ((result = require_name(posting->name, error)) < 0 || (result = require_object(posting->object, error)) < 0) {
    return result;
  }
  if ((result = bus_require_payload(bus, posting->user_info, &posting->size)) == 0) {
    result = bus_require_capacity(bus);
  }
  return result < 0 ? error_number(error, result) : 0;
}

static int send_post(tribune *bus, const struct posting *posting, uint64_t serial, uint8_t flags, bool is_awaited)
{
  struct wire_post post = {
      .options = (uint8_t)(posting->options->flags | (is_awaited ? WIRE_POST_OPTIONS_AWAITED : 0u)),
      .style = (enum wire_posting_style)posting->options->style,
      .deadline = is_awaited ? posting->options->deadline_ms : 0,
  };
  int file = -1;
  if (bus->accepts_files && posting->size >= WIRE_DESCRIPTOR_PAYLOAD_LENGTH) {
    /* If no file can be made, userInfo goes into the frame. */
    file = memory_seal(posting->user_info, posting->size);
  }
  if (file >= 0) {
    post.length = (uint32_t)posting->size;
    flags |= WIRE_FRAME_FLAGS_DESCRIPTOR;
  }
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_POST, flags, serial);
  wire_write_post(&writer, &post);
  frame_end(&writer, posting->name, posting->object, posting->user_info, file < 0 ? posting->size : 0);
  return bus_send(bus, &writer, file, file < 0 ? 0 : posting->size);
}

int tribune_post(tribune *bus, const char *name, const char *object, const void *user_info, size_t size,
                 const tribune_post_options *options)
{
  struct posting posting = {name, object, user_info, size, options};
  int result = require_posting(bus, &posting, NULL);
  return result < 0 ? result : send_post(bus, &posting, 0, 0, false);
}

static int begin_post(tribune *bus, enum slot_kind kind, struct posting *posting, tribune_callback callback,
                      void *userdata, tribune_slot **ret, tribune_error *error)
{
  int result = require_posting(bus, posting, error);
  if (result < 0) {
    return result;
  }
  tribune_slot *slot = slot_new(kind, callback, userdata);
  if (slot == NULL) {
    return error_number(error, -ENOMEM);
  }
  slot->serial = bus_next_serial(bus);
  uint8_t flags = kind == SLOT_POST ? WIRE_FRAME_FLAGS_ACKNOWLEDGE : 0;
  result = send_post(bus, posting, slot->serial, flags, kind == SLOT_AWAITED);
  if (result < 0) {
    slot_free(slot);
    return error_number(error, result);
  }
  slot_begin(slot, bus, ret);
  return 0;
}

int tribune_post_acknowledged_async(tribune *bus, tribune_slot **ret, const char *name, const char *object,
                                    const void *user_info, size_t size, const tribune_post_options *options,
                                    tribune_callback callback, void *userdata)
{
  struct posting posting = {name, object, user_info, size, options};
  return begin_post(bus, SLOT_POST, &posting, callback, userdata, ret, NULL);
}

int tribune_post_awaited_async(tribune *bus, tribune_slot **ret, const char *name, const char *object,
                               const void *user_info, size_t size, const tribune_post_options *options,
                               tribune_callback callback, void *userdata)
{
  struct posting posting = {name, object, user_info, size, options};
  return begin_post(bus, SLOT_AWAITED, &posting, callback, userdata, ret, NULL);
}

int tribune_post_acknowledged(tribune *bus, const char *name, const char *object, const void *user_info, size_t size,
                              const tribune_post_options *options, tribune_error *error)
{
  struct posting posting = {name, object, user_info, size, options};
  tribune_slot *slot;
  tribune_message *message;
  uint64_t until_usec = bus == NULL ? 0 : bus_deadline_usec(bus, 0);
  bus_await_capacity(bus, until_usec);
  int result = begin_post(bus, SLOT_POST, &posting, NULL, NULL, &slot, error);
  if (result == 0) {
    result = bus_await_result(bus, slot, until_usec, &message, error);
  }
  if (result == 0) {
    tribune_message_unref(message);
  }
  return result;
}

int tribune_post_awaited(tribune *bus, const char *name, const char *object, const void *user_info, size_t size,
                         const tribune_post_options *options, tribune_message **ret, tribune_error *error)
{
  struct posting posting = {name, object, user_info, size, options};
  tribune_slot *slot;
  tribune_message *message;
  uint64_t until_usec = bus == NULL ? 0 : bus_deadline_usec(bus, options == NULL ? 0 : options->deadline_ms);
  bus_await_capacity(bus, until_usec);
  int result = begin_post(bus, SLOT_AWAITED, &posting, NULL, NULL, &slot, error);
  if (result < 0) {
    return result;
  }
  result = bus_await_result(bus, slot, until_usec, &message, error);
  if (result < 0) {
    return result;
  }
  result = message->missing_count == 0;
  if (ret != NULL) {
    *ret = message;
  } else {
    tribune_message_unref(message);
  }
  return result;
}

/* ---- Observing ---- */

int tribune_observe(tribune *bus, tribune_slot **ret, const char *pattern, const char *object, unsigned flags,
                    tribune_callback callback, void *userdata)
{
  int result = bus_check(bus);
  if (result < 0 || callback == NULL || (flags & ~(TRIBUNE_OBSERVE_RETAINED | TRIBUNE_OBSERVE_AWAITED)) != 0) {
    return result < 0 ? result : -EINVAL;
  }
  pattern = pattern == NULL ? "" : pattern;
  if ((pattern[0] != '\0' && (result = require_pattern(pattern, NULL)) < 0)
      || (result = require_object(object, NULL)) < 0 || (result = bus_require_capacity(bus)) < 0) {
    return result;
  }
  if (bus->limit == 0 && (result = bus_give_room(bus)) < 0) {
    return result;
  }
  tribune_slot *slot = slot_new(SLOT_OBSERVATION, callback, userdata);
  if (slot == NULL || slot_set_terms(slot, &pattern, 1, object) < 0) {
    slot_free(slot);
    return -ENOMEM;
  }
  slot->is_awaited = (flags & TRIBUNE_OBSERVE_AWAITED) != 0;
  slot->serial = bus_next_serial(bus);
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_OBSERVE, 0, slot->serial);
  wire_write_observe(&writer, &(struct wire_observe){.options = (uint8_t)flags});
  frame_end(&writer, pattern, object, NULL, 0);
  return slot_send(slot, bus, &writer, ret);
}

/* ---- Acknowledging ---- */

size_t reason_length(const char *text)
{
  size_t length = text == NULL ? 0 : strlen(text);
  if (length > WIRE_REASON_LENGTH) {
    length = WIRE_REASON_LENGTH;
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) {
      length--;
    }
  }
  return length;
}

int send_done(tribune *bus, uint64_t poster, uint64_t post, bool has_failed, const char *reason)
{
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_DONE, 0, bus_next_serial(bus));
  wire_write_done(&writer, &(struct wire_done){.poster = poster, .post = post, .has_failed = has_failed});
  frame_end(&writer, NULL, NULL, reason, reason_length(reason));
  return bus_send(bus, &writer, -1, 0);
}

int acknowledgement_new(const struct frame *frame, size_t observers, struct acknowledgement **ret)
{
  struct acknowledgement *acknowledgement = calloc(1, sizeof *acknowledgement);
  if (acknowledgement == NULL) {
    return -ENOMEM;
  }
  acknowledgement->open = (unsigned)observers;
  acknowledgement->poster = frame->header.sender;
  acknowledgement->post = frame->header.serial;
  *ret = acknowledgement;
  return 0;
}

void acknowledgement_attach(tribune *bus, struct acknowledgement *acknowledgement, tribune_message *message)
{
  message->acknowledgement = acknowledgement;
  message->is_awaited = true;
  message->is_open = true;
  message_list(message, bus);
}

int acknowledgement_settle(tribune *bus, struct acknowledgement *acknowledgement, const char *failure)
{
  if (failure != NULL && !acknowledgement->has_failed) {
    acknowledgement->has_failed = true;
    acknowledgement->reason = strdup(failure);
  }
  if (--acknowledgement->open > 0) {
    return 0;
  }
  int result = bus == NULL || bus->phase == PHASE_ENDED
                   ? -ENOTCONN
                   : send_done(bus, acknowledgement->poster, acknowledgement->post, acknowledgement->has_failed,
                               acknowledgement->reason);
  free(acknowledgement->reason);
  free(acknowledgement);
  return result;
}

int acknowledge(tribune_message *message, const char *failure)
{
  if (message == NULL || !message->is_awaited) {
    return -EINVAL;
  }
  if (!message->is_open) {
    return -ESTALE;
  }
  int result = bus_check(message->bus);
  if (result < 0) {
    return result;
  }
  tribune *bus = message->bus;
  struct acknowledgement *acknowledgement = message->acknowledgement;
  message->acknowledgement = NULL;
  message_unlist(message);
  return acknowledgement_settle(bus, acknowledgement, failure);
}

int tribune_done(tribune_message *notification)
{
  return acknowledge(notification, NULL);
}
