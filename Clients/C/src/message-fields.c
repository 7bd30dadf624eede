/* SPDX-License-Identifier: Apache-2.0 */

#include "message.h"

static bool is_of(const tribune_message *message, tribune_type one, tribune_type other)
{
  return message != NULL && (message->type == one || message->type == other);
}

static const struct frame *frame_of(const tribune_message *message)
{
  return is_of(message, TRIBUNE_NOTIFICATION, TRIBUNE_QUESTION) ? message->frame : NULL;
}

tribune_type tribune_message_get_type(const tribune_message *message)
{
  return message == NULL ? (tribune_type)0 : message->type;
}

const char *tribune_message_get_name(const tribune_message *message)
{
  const struct frame *frame = frame_of(message);
  return frame == NULL ? NULL : frame_name(frame);
}

const char *tribune_message_get_object(const tribune_message *message)
{
  const struct frame *frame = frame_of(message);
  return frame == NULL ? NULL : frame_object(frame);
}

const void *tribune_message_get_user_info(const tribune_message *message, size_t *ret_size)
{
  const struct frame *frame = frame_of(message);
  size_t size = 0;
  const void *data = NULL;
  if (frame != NULL && frame->mapping != NULL) {
    size = frame->mapping_length;
    data = frame->mapping;
  } else if (frame != NULL) {
    size = header_payload_length(&frame->header);
    data = frame_payload(frame);
  }
  if (ret_size != NULL) {
    *ret_size = size;
  }
  return data;
}

uint64_t tribune_message_get_sender(const tribune_message *message)
{
  const struct frame *frame = frame_of(message);
  return frame == NULL ? 0 : frame->header.sender;
}

const tribune_peer *tribune_message_get_peer(const tribune_message *message)
{
  if (message != NULL && message->poster != NULL) {
    return &message->poster->peer;
  }
  return message != NULL && message->has_peer ? &message->peer : NULL;
}

bool tribune_message_is_retained(const tribune_message *message)
{
  const struct frame *frame = frame_of(message);
  return frame != NULL && frame->header.kind == WIRE_KIND_RETAINED;
}

bool tribune_message_is_awaited(const tribune_message *message)
{
  return message != NULL && message->is_awaited;
}

uint64_t tribune_message_get_lost(const tribune_message *message)
{
  return message == NULL ? 0 : message->lost;
}

uint64_t tribune_message_get_query(const tribune_message *message)
{
  return message == NULL ? 0 : message->query;
}

bool tribune_message_is_dry_run(const tribune_message *message)
{
  return message != NULL && message->is_dry_run;
}

bool tribune_message_wants_value(const tribune_message *message)
{
  return message != NULL && message->wants_value;
}

uint32_t tribune_message_get_timeout_ms(const tribune_message *message)
{
  return message == NULL ? 0 : message->timeout_ms;
}

tribune_conclusion tribune_message_get_conclusion(const tribune_message *message)
{
  return message == NULL ? TRIBUNE_CONCLUSION_CANCELLED : message->conclusion;
}

tribune_stage tribune_message_get_stage(const tribune_message *message)
{
  return message == NULL ? TRIBUNE_STAGE_DEFERRED : message->stage;
}

bool tribune_message_is_allowed(const tribune_message *message)
{
  return message != NULL && message->is_allowed;
}

bool tribune_message_is_unanswered(const tribune_message *message)
{
  return message != NULL && message->is_unanswered;
}

bool tribune_message_is_overridden(const tribune_message *message)
{
  return message != NULL && message->is_overridden;
}

const tribune_outcome *tribune_message_get_outcome(const tribune_message *message, size_t index)
{
  return message != NULL && index < message->outcome_count ? &message->outcomes[index].fields : NULL;
}

uint32_t tribune_message_get_omitted(const tribune_message *message)
{
  return message != NULL && message->type == TRIBUNE_VERDICT ? message->count : 0;
}

const char *tribune_message_get_similar_name(const tribune_message *message)
{
  return message == NULL ? NULL : message->similar_name;
}

uint32_t tribune_message_get_acknowledged(const tribune_message *message)
{
  return message != NULL && message->type == TRIBUNE_AWAITED ? message->count : 0;
}

const tribune_missing *tribune_message_get_missing(const tribune_message *message, size_t index)
{
  return message != NULL && index < message->missing_count ? &message->missing[index].fields : NULL;
}

const tribune_error *tribune_message_get_error(const tribune_message *message)
{
  return message == NULL ? NULL : message->error;
}
