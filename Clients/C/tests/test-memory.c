/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Lets each allocation of the library fail in turn. The function that allocates must report that. A connection that
 * cannot continue must end, and no memory may leak.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "harness.h"
#include "peer.h"

/* The number of allocations until one fails; 0 for none. The Makefile links the functions below in front of the real
   ones. */
static unsigned long countdown;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);

static bool fails(void)
{
  return countdown > 0 && --countdown == 0;
}

void *__wrap_malloc(size_t size)
{
  return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
  return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
  return fails() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text)
{
  return fails() ? NULL : __real_strdup(text);
}

static struct wire_writer conversation;

static void append(uint8_t kind, uint64_t serial, const struct wire_writer *fields, const char *name,
                   const char *payload)
{
  struct wire_writer frame = {0};
  frame_begin(&frame, kind, 0, serial);
  wire_write(&frame, fields->data, fields->length);
  frame_end(&frame, name, NULL, payload, strlen(payload));
  CHECK(!frame.failed);
  wire_write(&conversation, frame.data, frame.length);
  wire_writer_free(&frame);
}

static const struct wire_peer_identity someone = {
    .pid = 1, .process = {(const uint8_t *)"init", 4}, .units = {(const uint8_t *)"a.service/b.service", 19}};

static void write_conversation(void)
{
  struct wire_writer fields = {0};
  for (uint64_t serial = 1; serial <= 3; serial++) {
    wire_write_okay(&fields, &(struct wire_okay){.registration = serial, .delegate = serial});
    append(WIRE_KIND_OK, serial, &fields, NULL, "");
    fields.length = 0;
  }
  wire_write_okay(&fields, &(struct wire_okay){.registration = 7});
  append(WIRE_KIND_OK, 7, &fields, NULL, "");
  fields.length = 0;
  wire_write_late(&fields, &(struct wire_late){.delegate = 3, .actions = 1});
  append(WIRE_KIND_LATE, 3, &fields, NULL, "");
  fields.length = 0;
  wire_write_poster_facts(&fields, &(struct wire_poster_facts){.connection = 0, .slot = 1, .peer = someone});
  append(WIRE_KIND_POSTER, 0, &fields, NULL, "");
  fields.length = 0;
  wire_write_post(&fields, &(struct wire_post){.options = WIRE_POST_OPTIONS_AWAITED});
  append(WIRE_KIND_POST, 9, &fields, "a.willB", "{}");
  append(WIRE_KIND_POST, 9, &fields, "a.willB", "{}");
  fields.length = 0;
  append(WIRE_KIND_POST, 9, &fields, "a.didB", "{}");
  wire_write_lost(&fields, &(struct wire_lost){.count = 2});
  append(WIRE_KIND_LOST, 0, &fields, NULL, "");
  fields.length = 0;
  for (uint64_t query = 1; query <= 3; query++) {
    wire_write_question(&fields, &(struct wire_question){.query = query, .delegate = 2, .asker = someone});
    append(WIRE_KIND_QUESTION, 2, &fields, "a.shouldB", "{}");
    fields.length = 0;
  }
  wire_write_concluded(&fields, &(struct wire_concluded){.query = 1, .delegate = 2});
  append(WIRE_KIND_CONCLUDED, 2, &fields, NULL, "");
  fields.length = 0;
  wire_write_progress(&fields, &(struct wire_progress){.delegate = {.id = 2, .peer = someone}});
  append(WIRE_KIND_PROGRESS, 4, &fields, NULL, "soon");
  fields.length = 0;
  struct wire_writer record = {0};
  wire_write_outcome(&record, &(struct wire_outcome){.delegate = {.id = 2, .peer = someone}});
  struct wire_writer list = {0};
  wire_write_bytes(&list, (struct wire_bytes){record.data, record.length});
  wire_write_verdict(&fields, &(struct wire_verdict){.outcomes = {list.data, list.length, 1}});
  append(WIRE_KIND_VERDICT, 4, &fields, NULL, "");
  fields.length = record.length = list.length = 0;
  wire_write_missing_observer(&record, &(struct wire_missing_observer){.connection = 3, .peer = someone});
  wire_write_bytes(&list, (struct wire_bytes){record.data, record.length});
  wire_write_awaited(&fields, &(struct wire_awaited){.missing = {list.data, list.length, 1}});
  append(WIRE_KIND_AWAITED, 5, &fields, NULL, "");
  fields.length = 0;
  wire_write_refusal(&fields, &(struct wire_refusal){.code = WIRE_ERROR_CODE_LIMIT_EXCEEDED});
  append(WIRE_KIND_ERROR, 6, &fields, NULL, "too many");
  fields.length = 0;
  wire_write_u8(&fields, WIRE_ENDED_WHAT_EXPIRED);
  append(WIRE_KIND_ENDED, 3, &fields, NULL, "");
  wire_writer_free(&fields);
  wire_writer_free(&record);
  wire_writer_free(&list);
}

static void answer(tribune_slot *slot, tribune_message *message, void *userdata)
{
  unsigned *count = userdata;
  (void)slot;
  count[tribune_message_get_type(message)]++;
  if (tribune_message_get_query(message) == 2) {
    tribune_veto(message, "no");
  }
  if (count[TRIBUNE_NOTIFICATION] == 1) {
    tribune_done(message);
  }
}

static unsigned received_requests(void)
{
  static uint8_t data[1 << 16];
  ssize_t length = recv(peer, data, sizeof data, MSG_DONTWAIT);
  unsigned count = 0;
  struct header header;
  for (ssize_t at = 0; at + (ssize_t)HEADER_LENGTH <= length; at += header.length) {
    CHECK_EQUAL(header_decode(data + at, &frame_limits_of_bus, &header), 0);
    count += header.kind != WIRE_KIND_ANSWER && header.kind != WIRE_KIND_DONE && header.kind != WIRE_KIND_ROOM;
  }
  return count;
}

static bool converse(unsigned long fail_at)
{
  static const char *const patterns[] = {"a.*", NULL};
  static const tribune_ask_options begins = {.flags = TRIBUNE_ASK_BEGIN};
  unsigned count[TRIBUNE_LATE + 1] = {0};
  tribune_slot *slots[7] = {0};
  begin_greeted();
  countdown = fail_at;
  unsigned begun = 0;
  begun += tribune_observe(bus, &slots[0], NULL, NULL, TRIBUNE_OBSERVE_AWAITED, answer, count) == 0;
  begun += tribune_delegate(bus, &slots[1], patterns, NULL, NULL, answer, count) == 0;
  begun += tribune_hold(bus, &slots[2], NULL, NULL, "why", NULL, answer, count) == 0;
  begun += tribune_ask_async(bus, &slots[3], "a.shouldB", NULL, NULL, 0, &begins, answer, count) == 0;
  begun += tribune_post_awaited_async(bus, &slots[4], "a.b", NULL, NULL, 0, NULL, answer, count) == 0;
  begun += tribune_post_acknowledged_async(bus, &slots[5], "a.b", NULL, NULL, 0, NULL, answer, count) == 0;
  begun += tribune_continue(bus, &slots[6], "a.shouldB", NULL, answer, count) == 0;
  CHECK_EQUAL(received_requests(), begun);
  put(conversation.data, conversation.length);
  shutdown(peer, SHUT_WR);
  int result;
  while ((result = tribune_process(bus, NULL)) >= 0) {
  }
  bool has_failed = fail_at > 0 && countdown == 0;
  countdown = 0;
  CHECK(result == -ENOMEM || result == -ECONNRESET);
  /* If a request failed to begin, later ones have other serials, and the replies do not fit. */
  unsigned ended = count[TRIBUNE_ENDED] + count[TRIBUNE_AWAITED] + count[TRIBUNE_ACKNOWLEDGED];
  CHECK(ended == 7 || begun < 7);
  for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
    CHECK(slots[i] == NULL || tribune_slot_is_in_force(slots[i]) == -ENOTCONN);
    tribune_slot_unref(slots[i]);
  }
  if (!has_failed) {
    CHECK_EQUAL(count[TRIBUNE_READY], 4);
    CHECK_EQUAL(count[TRIBUNE_LATE], 1);
    CHECK_EQUAL(count[TRIBUNE_QUESTION], 3);
    CHECK_EQUAL(count[TRIBUNE_VERDICT], 1);
    CHECK_EQUAL(count[TRIBUNE_ENDED], 6);
  }
  end();
  return has_failed;
}

static void test_every_allocation_can_fail(void)
{
  write_conversation();
  CHECK(!converse(0));
  unsigned long n = 1;
  while (converse(n)) {
    n++;
  }
  CHECK(n > 50);
  wire_writer_free(&conversation);
}

static void test_a_hold_that_cannot_be_released_ends_the_connection(void)
{
  tribune_slot *hold;
  begin_greeted();
  SUCCEED(tribune_hold(bus, &hold, NULL, NULL, "why", NULL, NULL, NULL), NULL);
  countdown = 1;
  tribune_slot_unref(hold);
  countdown = 0;
  CHECK_EQUAL(tribune_process(bus, NULL), -ENOMEM);
  end();
}

/* Without memory, tribune_begin() fails although the verdict has begun the action. */
static bool begin_action(unsigned long fail_at)
{
  tribune_slot *action;
  struct wire_writer fields = {0};
  wire_write_verdict(&fields, &(struct wire_verdict){.verdict = WIRE_VERDICT_KIND_ALLOWED});
  begin_greeted();
  put_frame(WIRE_KIND_VERDICT, 0, 1, fields.data, fields.length, NULL, NULL);
  wire_writer_free(&fields);
  countdown = fail_at;
  int result = tribune_begin(bus, &action, "a.shouldB", NULL, NULL, 0, NULL, NULL, NULL);
  bool has_failed = countdown == 0;
  countdown = 0;
  CHECK(result == 1 || (has_failed && result == -ENOMEM));
  CHECK((action == NULL) == (result < 0));
  unsigned sent = received_requests();
  /* The second frame is the `cancel`. */
  CHECK(result < 0 ? sent == 0 || sent == 2 : sent == 1);
  tribune_slot_unref(action);
  end();
  return has_failed;
}

static void test_an_action_that_the_program_does_not_get_has_ended(void)
{
  unsigned long n = 1;
  while (begin_action(n)) {
    n++;
  }
  CHECK(n > 5);
}

static const struct test tests[] = {
    {"every allocation can fail", test_every_allocation_can_fail},
    {"an action that the program does not get has ended", test_an_action_that_the_program_does_not_get_has_ended},
    {"a hold that cannot be released ends the connection", test_a_hold_that_cannot_be_released_ends_the_connection},
};

int main(int argc, char **argv)
{
  return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
