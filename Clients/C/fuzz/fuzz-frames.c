/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Feeds the fuzzer's bytes to the decoders. Fields must not change when they are read, written and read again. fuzz/run
 * runs this program.
 */

#include <stdlib.h>
#include <string.h>

#include "../src/bus.h"
#include "../tests/vectors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
  if (!condition) {
    abort();
  }
}

static void feed_fields(uint8_t kind, const uint8_t *data, size_t size)
{
  struct wire_reader reader = wire_reader_of(data, size);
  struct wire_writer once = {0};
  struct wire_writer twice = {0};
  if (vector_handle_fields(kind, &reader, NULL, &once)) {
    reader = wire_reader_of(once.data, once.length);
    require(vector_handle_fields(kind, &reader, NULL, &twice));
    require(once.length == twice.length && (once.length == 0 || memcmp(once.data, twice.data, once.length) == 0));
  }
  wire_writer_free(&once);
  wire_writer_free(&twice);
}

static void read_message(tribune_message *message)
{
  const tribune_outcome *outcome;
  const tribune_missing *missing;
  size_t sum = 0;
  for (size_t i = 0; (outcome = tribune_message_get_outcome(message, i)) != NULL; i++) {
    sum += strlen(outcome->label) + strlen(outcome->reason) + strlen(outcome->peer->process)
           + strlen(outcome->peer->system_unit) + strlen(outcome->peer->user_unit);
    for (size_t j = 0; j < outcome->value_size; j++) {
      sum += ((const uint8_t *)outcome->value)[j];
    }
  }
  for (size_t i = 0; (missing = tribune_message_get_missing(message, i)) != NULL; i++) {
    sum += strlen(missing->reason) + strlen(missing->peer->process) + strlen(missing->peer->user_unit);
  }
  const tribune_peer *peer = tribune_message_get_peer(message);
  sum += peer == NULL ? 0 : strlen(peer->process) + strlen(peer->system_unit) + strlen(peer->user_unit);
  const char *name = tribune_message_get_name(message);
  sum += name == NULL ? 0 : strlen(name) + strlen(tribune_message_get_object(message));
  /* Without this, the compiler could remove the reads. */
  __asm__ volatile("" : : "r"(sum));
  tribune_message_unref(message);
}

static void read_frame(struct frame *frame)
{
  tribune_message *message = NULL;
  struct poster *poster;
  uint32_t slot;
  tribune_slot as[] = {{.kind = SLOT_ASK}, {.kind = SLOT_POST}, {.kind = SLOT_HOLD, .serial = 1}};
  feed_fields(frame->header.kind, frame->data, frame->header.fields_length);
  switch (frame->header.kind) {
  case WIRE_KIND_QUESTION:
    message_of_question(frame, &message);
    break;
  case WIRE_KIND_PROGRESS:
    message_of_progress(frame, &message);
    break;
  case WIRE_KIND_CONCLUDED:
    message_of_concluded(frame, &message);
    break;
  case WIRE_KIND_POSTER:
    if (poster_new(frame, &poster, &slot) == 0) {
      poster_unref(poster);
    }
    break;
  case WIRE_KIND_POST:
  case WIRE_KIND_RETAINED:
    message = message_new(TRIBUNE_NOTIFICATION, frame);
    break;
  default: {
    tribune_error error;
    dispatch_reply(&as[frame->header.serial % 3], frame, &message, &error);
    break;
  }
  }
  read_message(message);
}

static void feed_stream(const uint8_t *data, size_t size, size_t cut)
{
  static struct inbox inbox;
  memset(&inbox, 0, offsetof(struct inbox, buffer));
  inbox_begin(&inbox);
  inbox.has_hello = true;
  if (inbox_feed(&inbox, data, cut) == 0) {
    inbox_feed(&inbox, data + cut, size - cut);
  }
  struct frame *frame;
  while ((frame = inbox_take(&inbox)) != NULL) {
    read_frame(frame);
    frame_unref(frame);
  }
  inbox_end(&inbox);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size > 0) {
    feed_fields(data[0] % 32, data + 1, size - 1);
    feed_stream(data, size, data[0] % size);
  }
  return 0;
}
