/* SPDX-License-Identifier: Apache-2.0 */

/* These tests run the real bus. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon.h"
#include "harness.h"

static struct daemon daemon_;

static tribune *connected(void)
{
  if (daemon_.bus == 0) {
    daemon_start(&daemon_, false);
  }
  return connect_to(&daemon_);
}

static const char *const patterns[] = {"host.shouldReboot", "host.willReboot", "page.*", NULL};

static tribune_slot *attach_for_now(tribune *bus, struct record *record, const tribune_delegate_options *options)
{
  static const char *const names[] = {"host.*", "page.*", NULL};
  tribune_slot *slot;
  tribune_error error;
  SUCCEED(tribune_delegate(bus, &slot, names, NULL, options, record_message, record), NULL);
  SUCCEED(tribune_slot_wait(slot, UINT64_MAX, &error), &error);
  return slot;
}

static void attach(tribune *bus, struct record *record, const tribune_delegate_options *options)
{
  static const char *const names[] = {"host.*", "page.*", NULL};
  SUCCEED(tribune_delegate(bus, NULL, names, NULL, options, record_message, record), NULL);
  await_message(bus, record, TRIBUNE_READY, 1);
}

/* Asks, and lets the delegates of the other connection answer. Returns the verdict. */
static tribune_message *ask(tribune *asker, tribune *delegates, const char *name, const tribune_ask_options *options)
{
  struct record reply = {0};
  SUCCEED(tribune_ask_async(asker, NULL, name, NULL, "{}", TRIBUNE_STRING, options, record_message, &reply), NULL);
  while (reply.counts[TRIBUNE_VERDICT] == 0) {
    tribune_error error;
    SUCCEED(tribune_process(delegates, &error), &error);
    SUCCEED(tribune_process(asker, &error), &error);
    if (reply.counts[TRIBUNE_ENDED] > 0) {
      fail(__FILE__, __LINE__, "%s", tribune_message_get_error(reply.messages[TRIBUNE_ENDED])->message);
    }
  }
  tribune_message *message = tribune_message_ref(reply.messages[TRIBUNE_VERDICT]);
  record_end(&reply);
  return message;
}

static void test_nobody_answers(void)
{
  tribune *bus = connected();
  tribune_message *verdict;
  tribune_error error;
  int result = tribune_ask(bus, "host.shouldReboot", NULL, NULL, 0, NULL, &verdict, &error);
  SUCCEED(result, &error);
  CHECK_EQUAL(result, 1);
  CHECK(tribune_message_is_allowed(verdict) && tribune_message_is_unanswered(verdict));
  CHECK(tribune_message_get_outcome(verdict, 0) == NULL);
  CHECK(tribune_message_get_query(verdict) > 0);
  CHECK(tribune_message_get_similar_name(verdict) == NULL);
  tribune_message_unref(verdict);
  static const char *const never_asked[] = {"host.reboot", "host.shouldreboot", "page.willTurn", "page.mayTurn"};
  for (size_t i = 0; i < sizeof never_asked / sizeof *never_asked; i++) {
    CHECK_EQUAL(tribune_ask(bus, never_asked[i], NULL, NULL, 0, NULL, NULL, &error), -EINVAL);
    CHECK_EQUAL(error.code, TRIBUNE_ERROR_INVALID_NAME);
  }
  tribune_ask_options first = {.mode = TRIBUNE_MODE_FIRST};
  CHECK_EQUAL(tribune_ask(bus, "host.shouldreboot", NULL, NULL, 0, &first, &verdict, &error), 0);
  CHECK_TEXT(tribune_message_get_similar_name(verdict), "host.shouldReboot");
  tribune_message_unref(verdict);
  tribune_ask_options options = {.flags = TRIBUNE_ASK_VETO_BY_DEFAULT};
  CHECK_EQUAL(tribune_ask(bus, "host.shouldReboot", NULL, NULL, 0, &options, NULL, &error), 0);
  options.mode = TRIBUNE_MODE_FIRST;
  CHECK_EQUAL(tribune_ask(bus, "page.first", NULL, NULL, 0, &options, NULL, &error), 0);
  tribune_unref(bus);
}

struct answering {
  int (*answer)(tribune_message *question);
  tribune_outcome_kind kind;
  const char *reason;
  bool is_allowed;
};

static int veto(tribune_message *question)
{
  return tribune_veto(question, "the backup is at 40 %");
}

static int veto_without_a_reason(tribune_message *question)
{
  return tribune_veto(question, NULL);
}

static int fail_with_a_reason(tribune_message *question)
{
  return tribune_fail(question, "the disk is broken");
}

static int forget(tribune_message *question)
{
  (void)question;
  return 0;
}

static int defer_and_approve(tribune_message *question)
{
  SUCCEED(tribune_defer(question, 10000, "asking the user"), NULL);
  return tribune_approve(question);
}

static void answer_it(tribune_slot *slot, tribune_message *message, struct record *record)
{
  const struct answering *answering = record->context;
  (void)slot;
  if (tribune_message_get_type(message) == TRIBUNE_QUESTION) {
    /* This drops the question if it is unanswered. */
    record->messages[TRIBUNE_QUESTION] = tribune_message_unref(record->messages[TRIBUNE_QUESTION]);
    SUCCEED(answering->answer(message), NULL);
    if (answering->answer != forget) {
      CHECK_EQUAL(tribune_approve(message), -ESTALE);
    }
  }
}

static void test_a_delegate_answers(void)
{
  static struct answering table[] = {
      {tribune_approve, TRIBUNE_OUTCOME_APPROVED, "", true},
      {veto, TRIBUNE_OUTCOME_VETOED, "the backup is at 40 %", false},
      {veto_without_a_reason, TRIBUNE_OUTCOME_VETOED, "", false},
      {tribune_abstain, TRIBUNE_OUTCOME_ABSTAINED, "", true},
      {fail_with_a_reason, TRIBUNE_OUTCOME_FAILED, "the disk is broken", false},
      {forget, TRIBUNE_OUTCOME_FAILED, "the delegate released the question without an answer", false},
      {defer_and_approve, TRIBUNE_OUTCOME_APPROVED, "", true},
  };
  tribune *bus = connected();
  tribune *asker = connected();
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    struct record record = {.handle = answer_it, .context = &table[i]};
    tribune_slot *slot = attach_for_now(bus, &record, &(tribune_delegate_options){.label = "backup"});
    tribune_message *verdict = ask(asker, bus, "host.shouldReboot", NULL);
    CHECK_EQUAL(tribune_message_is_allowed(verdict), table[i].is_allowed);
    const tribune_outcome *outcome = tribune_message_get_outcome(verdict, 0);
    CHECK(outcome != NULL && tribune_message_get_outcome(verdict, 1) == NULL);
    CHECK_EQUAL(outcome->kind, table[i].kind);
    CHECK_EQUAL(outcome->delegate, tribune_slot_get_id(slot));
    CHECK_TEXT(outcome->label, "backup");
    CHECK_TEXT(outcome->reason, table[i].reason);
    CHECK_EQUAL(outcome->peer->pid, getpid());
    CHECK(outcome->value == NULL && outcome->value_size == 0);
    await_message(bus, &record, TRIBUNE_CONCLUDED, 1);
    CHECK_EQUAL(tribune_message_get_query(record.messages[TRIBUNE_CONCLUDED]), tribune_message_get_query(verdict));
    CHECK_EQUAL(tribune_message_get_conclusion(record.messages[TRIBUNE_CONCLUDED]),
                table[i].is_allowed ? TRIBUNE_CONCLUSION_ALLOWED : TRIBUNE_CONCLUSION_VETOED);
    tribune_message_unref(verdict);
    tribune_slot_unref(slot);
    record_end(&record);
  }
  tribune_unref(bus);
  tribune_unref(asker);
}

static void test_a_question_says_what_is_asked(void)
{
  tribune *bus = connected();
  tribune *asker = connected();
  struct record record = {0};
  struct record reply = {0};
  attach(bus, &record, NULL);
  tribune_ask_options options = {.flags = TRIBUNE_ASK_DRY_RUN, .deadline_ms = 20000};
  SUCCEED(
      tribune_ask_async(asker, NULL, "host.shouldReboot", "host/1", "{\"a\":1}", 7, &options, record_message, &reply),
      NULL);
  tribune_message *question = await_message(bus, &record, TRIBUNE_QUESTION, 1);
  CHECK_TEXT(tribune_message_get_name(question), "host.shouldReboot");
  CHECK_TEXT(tribune_message_get_object(question), "host/1");
  size_t size;
  CHECK(memcmp(tribune_message_get_user_info(question, &size), "{\"a\":1}", 7) == 0 && size == 7);
  CHECK(tribune_message_is_dry_run(question) && !tribune_message_wants_value(question));
  CHECK_EQUAL(tribune_message_get_peer(question)->pid, getpid());
  CHECK_EQUAL(tribune_message_get_timeout_ms(question), 5000);
  SUCCEED(tribune_abstain(question), NULL);
  CHECK(tribune_message_is_dry_run(await_message(asker, &reply, TRIBUNE_VERDICT, 1)));
  record_end(&reply);
  record_end(&record);
  tribune_unref(bus);
  tribune_unref(asker);
}

static void answer_value(tribune_slot *slot, tribune_message *message, struct record *record)
{
  (void)slot;
  (void)record;
  if (tribune_message_get_type(message) == TRIBUNE_QUESTION) {
    CHECK(tribune_message_wants_value(message));
    SUCCEED(tribune_answer_value(message, "[1, 2]", TRIBUNE_STRING), NULL);
  }
}

static void test_values_are_collected(void)
{
  tribune *bus = connected();
  tribune *asker = connected();
  struct record record = {.handle = answer_value};
  tribune_slot *slots[] = {attach_for_now(bus, &record, &(tribune_delegate_options){.label = "second", .order = 1}),
                           attach_for_now(bus, &record, &(tribune_delegate_options){.label = "first", .order = -1})};
  const tribune_mode modes[] = {TRIBUNE_MODE_FIRST, TRIBUNE_MODE_COLLECT};
  for (size_t i = 0; i < 2; i++) {
    tribune_message *reply = ask(asker, bus, "page.rows", &(tribune_ask_options){.mode = modes[i]});
    CHECK(tribune_message_is_allowed(reply) && !tribune_message_is_unanswered(reply));
    for (size_t j = 0; j <= i; j++) {
      const tribune_outcome *outcome = tribune_message_get_outcome(reply, j);
      CHECK_EQUAL(outcome->kind, TRIBUNE_OUTCOME_ANSWERED);
      CHECK_TEXT(outcome->label, j == 0 ? "first" : "second");
      CHECK(outcome->value_size == 6 && memcmp(outcome->value, "[1, 2]", 6) == 0);
    }
    CHECK(tribune_message_get_outcome(reply, i + 1) == NULL);
    tribune_message_unref(reply);
  }
  tribune_slot_unref(slots[0]);
  tribune_slot_unref(slots[1]);
  record_end(&record);
  tribune_unref(bus);
  tribune_unref(asker);
}

/* Approves, and notes the order in which the delegates are asked. */
static void note_and_approve(tribune_slot *slot, tribune_message *message, struct record *record)
{
  uint64_t *asked = record->context;
  if (tribune_message_get_type(message) == TRIBUNE_QUESTION) {
    CHECK(record->counts[TRIBUNE_QUESTION] <= 2);
    asked[record->counts[TRIBUNE_QUESTION] - 1] = tribune_slot_get_id(slot);
    CHECK_TEXT(tribune_message_get_object(message), "");
    SUCCEED(tribune_approve(message), NULL);
  }
}

static void test_a_question_without_an_object_is_put_to_all_delegates(void)
{
  static const char *const names[] = {"page.*", NULL};
  static const char *const objects[] = {"page/1", "page/2"};
  tribune *bus = connected();
  tribune *asker = connected();
  tribune_error error;
  uint64_t asked[2] = {0};
  struct record record = {.handle = note_and_approve, .context = asked};
  tribune_slot *slots[2];
  for (int i = 0; i < 2; i++) {
    tribune_delegate_options options = {.order = -i};
    SUCCEED(tribune_delegate(bus, &slots[i], names, objects[i], &options, record_message, &record), NULL);
    SUCCEED(tribune_slot_wait(slots[i], UINT64_MAX, &error), &error);
  }
  tribune_message *verdict = ask(asker, bus, "page.shouldTurn", &(tribune_ask_options){.mode = TRIBUNE_MODE_ORDER});
  CHECK(tribune_message_is_allowed(verdict) && !tribune_message_is_unanswered(verdict));
  CHECK_EQUAL(asked[0], tribune_slot_get_id(slots[1]));
  CHECK_EQUAL(asked[1], tribune_slot_get_id(slots[0]));
  tribune_message_unref(verdict);
  SUCCEED(tribune_ask(asker, "page.shouldTurn", "page/3", NULL, 0, NULL, &verdict, &error), &error);
  CHECK(tribune_message_is_unanswered(verdict));
  tribune_message_unref(verdict);
  tribune_slot_unref(slots[0]);
  tribune_slot_unref(slots[1]);
  record_end(&record);
  tribune_unref(bus);
  tribune_unref(asker);
}

static void answer_value_and_veto(tribune_slot *slot, tribune_message *message, struct record *record)
{
  (void)slot, (void)record;
  if (tribune_message_get_type(message) == TRIBUNE_QUESTION) {
    CHECK_EQUAL(tribune_answer_value(message, "1", 1), -EINVAL);
    SUCCEED(tribune_veto(message, "no"), NULL);
  }
}

static void test_permission_is_no_value(void)
{
  tribune *bus = connected();
  tribune *asker = connected();
  struct record record = {.handle = answer_value_and_veto};
  attach(bus, &record, NULL);
  tribune_message *verdict = ask(asker, bus, "host.shouldReboot", NULL);
  CHECK_TEXT(tribune_message_get_outcome(verdict, 0)->reason, "no");
  tribune_message_unref(verdict);
  record_end(&record);
  tribune_unref(bus);
  tribune_unref(asker);
}

static void test_progress_is_told(void)
{
  tribune *bus = connected();
  tribune *asker = connected();
  struct answering answering = {.answer = defer_and_approve};
  struct record record = {.handle = answer_it, .context = &answering};
  struct record reply = {0};
  attach(bus, &record, &(tribune_delegate_options){.label = "backup"});
  tribune_ask_options options = {.flags = TRIBUNE_ASK_PROGRESS};
  SUCCEED(tribune_ask_async(asker, NULL, "host.shouldReboot", NULL, NULL, 0, &options, record_message, &reply), NULL);
  tribune_message *asked = tribune_message_ref(await_message(asker, &reply, TRIBUNE_PROGRESS, 1));
  CHECK_EQUAL(tribune_message_get_stage(asked), TRIBUNE_STAGE_ASKED);
  await_message(bus, &record, TRIBUNE_QUESTION, 1);
  tribune_message *deferred = await_message(asker, &reply, TRIBUNE_PROGRESS, 2);
  if (tribune_message_get_stage(deferred) == TRIBUNE_STAGE_DEFERRED) {
    CHECK_TEXT(tribune_message_get_outcome(deferred, 0)->reason, "asking the user");
    CHECK_TEXT(tribune_message_get_outcome(deferred, 0)->label, "backup");
    CHECK_EQUAL(tribune_message_get_peer(deferred)->pid, getpid());
  }
  await_message(asker, &reply, TRIBUNE_VERDICT, 1);
  CHECK_EQUAL(reply.counts[TRIBUNE_PROGRESS], 3);
  CHECK_EQUAL(tribune_message_get_stage(reply.messages[TRIBUNE_PROGRESS]), TRIBUNE_STAGE_SETTLED);
  tribune_message_unref(asked);
  record_end(&reply);
  record_end(&record);
  tribune_unref(bus);
  tribune_unref(asker);
}

static void test_a_query_that_is_dropped_is_cancelled(void)
{
  tribune *bus = connected();
  tribune *asker = connected();
  struct record record = {0};
  struct record reply = {0};
  tribune_slot *query;
  attach(bus, &record, NULL);
  SUCCEED(tribune_ask_async(asker, &query, "host.shouldReboot", NULL, NULL, 0, NULL, record_message, &reply), NULL);
  tribune_message *question = await_message(bus, &record, TRIBUNE_QUESTION, 1);
  tribune_slot_unref(query);
  tribune_message *concluded = await_message(bus, &record, TRIBUNE_CONCLUDED, 1);
  CHECK_EQUAL(tribune_message_get_conclusion(concluded), TRIBUNE_CONCLUSION_CANCELLED);
  CHECK_EQUAL(tribune_approve(question), -ESTALE);
  tribune_error error;
  SUCCEED(tribune_flush(asker, UINT64_MAX, &error), &error);
  SUCCEED(tribune_process(asker, &error), &error);
  CHECK_EQUAL(reply.counts[TRIBUNE_ENDED], 0);
  record_end(&record);
  tribune_unref(bus);
  tribune_unref(asker);
}

static void test_a_delegate_that_leaves_is_gone(void)
{
  tribune *bus = connected();
  tribune *asker = connected();
  struct record record = {0};
  struct record reply = {0};
  tribune_slot *slot =
      attach_for_now(bus, &record, &(tribune_delegate_options){.flags = TRIBUNE_DELEGATE_ABSTAIN_ON_FAILURE});
  SUCCEED(tribune_ask_async(asker, NULL, "host.shouldReboot", NULL, NULL, 0, NULL, record_message, &reply), NULL);
  tribune_message *question = await_message(bus, &record, TRIBUNE_QUESTION, 1);
  tribune_slot_unref(slot);
  CHECK_EQUAL(tribune_approve(question), -ESTALE);
  tribune_message *verdict = await_message(asker, &reply, TRIBUNE_VERDICT, 1);
  CHECK(tribune_message_is_allowed(verdict));
  CHECK_EQUAL(tribune_message_get_outcome(verdict, 0)->kind, TRIBUNE_OUTCOME_GONE);
  record_end(&record);
  record_end(&reply);
  tribune_unref(bus);
  tribune_unref(asker);
}

static void test_a_delegate_can_be_replaced(void)
{
  tribune *bus = connected();
  tribune *other = connected();
  tribune *asker = connected();
  struct record record = {0};
  struct record second = {0};
  struct record reply = {0};
  tribune_slot *slot = attach_for_now(bus, &record, NULL);
  CHECK_EQUAL(tribune_slot_is_in_force(slot), 1);
  SUCCEED(tribune_ask_async(asker, NULL, "host.shouldReboot", NULL, NULL, 0, NULL, record_message, &reply), NULL);
  await_message(bus, &record, TRIBUNE_QUESTION, 1);
  attach(other, &second, &(tribune_delegate_options){.label = "the new one", .flags = TRIBUNE_DELEGATE_SET});
  const tribune_error *why = tribune_message_get_error(await_message(bus, &record, TRIBUNE_ENDED, 1));
  CHECK_EQUAL(why->code, TRIBUNE_ERROR_REPLACED);
  CHECK(strstr(why->message, "the new one") != NULL);
  CHECK_EQUAL(record.counts[TRIBUNE_CONCLUDED], 1);
  CHECK_EQUAL(tribune_message_get_conclusion(record.messages[TRIBUNE_CONCLUDED]), TRIBUNE_CONCLUSION_CANCELLED);
  CHECK_EQUAL(tribune_slot_is_in_force(slot), -ENOTCONN);
  CHECK_EQUAL(tribune_approve(record.messages[TRIBUNE_QUESTION]), -ESTALE);
  tribune_slot_unref(slot);
  record_end(&record);
  record_end(&second);
  record_end(&reply);
  tribune_unref(bus);
  tribune_unref(other);
  tribune_unref(asker);
}

/* Waits until the bus has confirmed or refused the slot, without running callbacks. */
static int await_decision(tribune *bus, tribune_slot *slot)
{
  int result;
  while ((result = tribune_slot_is_in_force(slot)) == 0) {
    SUCCEED(tribune_wait(bus, UINT64_MAX), NULL);
  }
  return result;
}

static void test_the_same_delegate_again_is_refused(void)
{
  tribune *bus = connected();
  struct record record = {0};
  tribune_slot *slot = attach_for_now(bus, &record, NULL);
  tribune_slot *again;
  static const char *const names[] = {"host.*", "page.*", NULL};
  tribune_error error;
  SUCCEED(tribune_delegate(bus, &again, names, NULL, NULL, record_message, &record), NULL);
  CHECK_EQUAL(await_decision(bus, again), -ENOTCONN);
  CHECK_EQUAL(tribune_slot_wait(again, UINT64_MAX, &error), -EEXIST);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_CONFLICT);
  await_message(bus, &record, TRIBUNE_ENDED, 1);
  tribune_slot_unref(again);
  CHECK_EQUAL(tribune_slot_is_in_force(slot), 1);
  tribune *asker = connected();
  struct answering answering = {.answer = veto};
  record.handle = answer_it;
  record.context = &answering;
  tribune_message *verdict = ask(asker, bus, "host.shouldReboot", NULL);
  CHECK(!tribune_message_is_allowed(verdict));
  tribune_message_unref(verdict);
  tribune_slot_unref(slot);
  record_end(&record);
  tribune_unref(bus);
  tribune_unref(asker);
}

static void test_a_delegate_receives_will_and_did(void)
{
  tribune *bus = connected();
  tribune *poster = connected();
  struct record record = {0};
  struct record all = {0};
  SUCCEED(tribune_observe(bus, NULL, NULL, NULL, 0, record_message, &all), NULL);
  SUCCEED(tribune_delegate(bus, NULL, patterns, "host/1", NULL, record_message, &record), NULL);
  await_message(bus, &record, TRIBUNE_READY, 1);
  const char *const posts[][2] = {{"host.willReboot", "host/2"},
                                  {"host.shouldReboot", "host/1"},
                                  {"host.didReboot", "host/1"},
                                  {"host.willReboot", NULL}, /* No object: it concerns all objects. */
                                  {"host.willReboot", "host/1"}};
  for (size_t i = 0; i < sizeof posts / sizeof *posts; i++) {
    SUCCEED(tribune_post(poster, posts[i][0], posts[i][1], NULL, 0, NULL), NULL);
  }
  await_message(bus, &all, TRIBUNE_NOTIFICATION, 5);
  CHECK_EQUAL(record.counts[TRIBUNE_NOTIFICATION], 2);
  tribune_message *message = record.messages[TRIBUNE_NOTIFICATION];
  CHECK_TEXT(tribune_message_get_name(message), "host.willReboot");
  CHECK_TEXT(tribune_message_get_object(message), "host/1");
  record_end(&all);
  record_end(&record);
  tribune_unref(bus);
  tribune_unref(poster);
}

static void test_what_is_no_delegate_is_refused(void)
{
  static const char *const none[] = {NULL};
  static const char *const bad[] = {"a.b*", NULL};
  tribune *bus = connected();
  char label[257];
  memset(label, 'x', 256);
  label[256] = '\0';
  CHECK_EQUAL(tribune_delegate(bus, NULL, none, NULL, NULL, record_message, NULL), -EINVAL);
  CHECK_EQUAL(tribune_delegate(bus, NULL, NULL, NULL, NULL, record_message, NULL), -EINVAL);
  CHECK_EQUAL(tribune_delegate(bus, NULL, bad, NULL, NULL, record_message, NULL), -EINVAL);
  CHECK_EQUAL(tribune_delegate(bus, NULL, patterns, NULL, NULL, NULL, NULL), -EINVAL);
  tribune_delegate_options options = {.label = label};
  CHECK_EQUAL(tribune_delegate(bus, NULL, patterns, NULL, &options, record_message, NULL), -EINVAL);
  options = (tribune_delegate_options){.reserved = {0, 1}};
  CHECK_EQUAL(tribune_delegate(bus, NULL, patterns, NULL, &options, record_message, NULL), -EINVAL);
  tribune_unref(bus);
}

/* ---- Holds ---- */

static void test_a_hold_vetoes_until_it_is_released(void)
{
  tribune *bus = connected();
  tribune_slot *hold;
  tribune_message *verdict;
  tribune_error error;
  tribune_hold_options options = {.label = "restore"};
  SUCCEED(tribune_hold(bus, &hold, "host.shouldReboot", NULL, "a restore is running", &options, NULL, NULL), NULL);
  SUCCEED(tribune_slot_wait(hold, UINT64_MAX, &error), &error);
  CHECK_EQUAL(tribune_slot_is_in_force(hold), 1);
  CHECK_EQUAL(tribune_ask(bus, "host.shouldReboot", NULL, NULL, 0, NULL, &verdict, &error), 0);
  const tribune_outcome *outcome = tribune_message_get_outcome(verdict, 0);
  CHECK_EQUAL(outcome->kind, TRIBUNE_OUTCOME_HELD);
  CHECK_EQUAL(outcome->delegate, tribune_slot_get_id(hold));
  CHECK_TEXT(outcome->label, "restore");
  CHECK_TEXT(outcome->reason, "a restore is running");
  tribune_message_unref(verdict);
  tribune_ask_options override = {.override_reason = "the machine burns"};
  CHECK_EQUAL(tribune_ask(bus, "host.shouldReboot", NULL, NULL, 0, &override, &verdict, &error), 1);
  CHECK(tribune_message_is_overridden(verdict));
  tribune_message_unref(verdict);
  tribune_slot_unref(hold);
  CHECK_EQUAL(tribune_ask(bus, "host.shouldReboot", NULL, NULL, 0, NULL, NULL, &error), 1);
  tribune_unref(bus);
}

static void test_a_question_without_an_object_meets_the_holds_of_all(void)
{
  tribune *bus = connected();
  tribune_slot *hold;
  tribune_message *verdict;
  tribune_error error;
  SUCCEED(tribune_hold(bus, &hold, "backup.shouldPrune", "repo/main", "a restore runs", NULL, NULL, NULL), NULL);
  SUCCEED(tribune_slot_wait(hold, UINT64_MAX, &error), &error);
  CHECK_EQUAL(tribune_ask(bus, "backup.shouldPrune", NULL, NULL, 0, NULL, &verdict, &error), 0);
  CHECK_EQUAL(tribune_message_get_outcome(verdict, 0)->kind, TRIBUNE_OUTCOME_HELD);
  CHECK_EQUAL(tribune_message_get_outcome(verdict, 0)->delegate, tribune_slot_get_id(hold));
  tribune_message_unref(verdict);
  CHECK_EQUAL(tribune_ask(bus, "backup.shouldPrune", "repo/other", NULL, 0, NULL, NULL, &error), 1);
  tribune_slot_unref(hold);
  CHECK_EQUAL(tribune_ask(bus, "backup.shouldPrune", NULL, NULL, 0, NULL, NULL, &error), 1);
  tribune_unref(bus);
}

static void test_a_hold_is_known_to_be_in_force_before_a_callback(void)
{
  tribune *bus = connected();
  struct record record = {0};
  tribune_slot *hold;
  SUCCEED(tribune_hold(bus, &hold, "host.**", NULL, "why", NULL, record_message, &record), NULL);
  CHECK_EQUAL(await_decision(bus, hold), 1);
  CHECK(tribune_slot_get_id(hold) != 0);
  CHECK_EQUAL(record.counts[TRIBUNE_READY], 0);
  await_message(bus, &record, TRIBUNE_READY, 1);
  tribune_slot_unref(hold);
  record_end(&record);
  tribune_unref(bus);
}

static void test_a_hold_has_its_new_reason(void)
{
  tribune *bus = connected();
  tribune_slot *hold, *observation;
  tribune_message *verdict;
  tribune_error error;
  SUCCEED(tribune_hold(bus, &hold, "host.shouldReboot", NULL, "begins", NULL, NULL, NULL), NULL);
  SUCCEED(tribune_hold_update(hold, "backup at 40 %"), NULL);
  CHECK_EQUAL(tribune_ask(bus, "host.shouldReboot", NULL, NULL, 0, NULL, &verdict, &error), 0);
  CHECK_TEXT(tribune_message_get_outcome(verdict, 0)->reason, "backup at 40 %");
  tribune_message_unref(verdict);
  CHECK_EQUAL(tribune_hold_update(hold, NULL), -EINVAL);
  CHECK_EQUAL(tribune_hold_update(hold, ""), -EINVAL);
  CHECK_EQUAL(tribune_hold_update(NULL, "why"), -EINVAL);
  struct record record = {0};
  SUCCEED(tribune_observe(bus, &observation, "a.*", NULL, 0, record_message, &record), NULL);
  CHECK_EQUAL(tribune_hold_update(observation, "why"), -EINVAL);
  tribune_slot_unref(observation);
  record_end(&record);
  tribune_hold_options options = {.lifetime_ms = 1};
  tribune_slot *short_hold;
  SUCCEED(tribune_hold(bus, &short_hold, "a.shouldB", NULL, "for a moment", &options, NULL, NULL), NULL);
  while (tribune_slot_is_in_force(short_hold) >= 0) {
    SUCCEED(tribune_wait(bus, UINT64_MAX), NULL);
  }
  CHECK_EQUAL(tribune_slot_is_in_force(short_hold), -ENOTCONN);
  CHECK_EQUAL(tribune_hold_update(short_hold, "too late"), -ENOTCONN);
  tribune_slot_unref(short_hold);
  tribune_slot_unref(hold);
  tribune_unref(bus);
}

static void test_a_hold_expires(void)
{
  tribune *bus = connected();
  struct record record = {0};
  tribune_slot *hold;
  tribune_error error;
  tribune_hold_options options = {.lifetime_ms = 300};
  SUCCEED(tribune_hold(bus, &hold, "host.**", NULL, "for a moment", &options, record_message, &record), NULL);
  await_message(bus, &record, TRIBUNE_READY, 1);
  const tribune_error *why = tribune_message_get_error(await_message(bus, &record, TRIBUNE_ENDED, 1));
  CHECK_EQUAL(why->code, TRIBUNE_ERROR_EXPIRED);
  CHECK_EQUAL(tribune_slot_is_in_force(hold), -ENOTCONN);
  CHECK_EQUAL(tribune_ask(bus, "host.shouldReboot", NULL, NULL, 0, NULL, NULL, &error), 1);
  tribune_slot_unref(hold);
  record_end(&record);
  tribune_unref(bus);
}

static void test_what_is_no_hold_is_refused(void)
{
  tribune *bus = connected();
  CHECK_EQUAL(tribune_hold(bus, NULL, "host.**", NULL, NULL, NULL, NULL, NULL), -EINVAL);
  CHECK_EQUAL(tribune_hold(bus, NULL, "host.**", NULL, "", NULL, NULL, NULL), -EINVAL);
  static const struct {
    const char *pattern, *why;
    int code;
  } refused[] = {
      {"shop.deploy", "why", TRIBUNE_ERROR_INVALID_PATTERN},
      {"backup.should", "why", TRIBUNE_ERROR_INVALID_PATTERN},
      {"host.**", " ", TRIBUNE_ERROR_INVALID_VALUE},
  };
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    tribune_slot *slot;
    tribune_error error;
    SUCCEED(tribune_hold(bus, &slot, refused[i].pattern, NULL, refused[i].why, NULL, NULL, NULL), NULL);
    CHECK_EQUAL(tribune_slot_wait(slot, UINT64_MAX, &error), -EINVAL);
    CHECK_EQUAL(error.code, refused[i].code);
    tribune_slot_unref(slot);
  }
  CHECK_EQUAL(tribune_hold(bus, NULL, "host.", NULL, "why", NULL, NULL, NULL), -EINVAL);
  tribune_hold_options options = {.lifetime_ms = UINT64_MAX};
  CHECK_EQUAL(tribune_hold(bus, NULL, "host.**", NULL, "why", &options, NULL, NULL), -EINVAL);
  tribune_unref(bus);
}

/* ---- Refusals, callbacks ---- */

static void test_the_bus_says_why_it_refuses(void)
{
  tribune *bus = connected();
  tribune_error error;
  tribune_ask_options options = {.deadline_ms = UINT32_MAX};
  CHECK_EQUAL(tribune_ask(bus, "a.shouldB", NULL, NULL, 0, &options, NULL, &error), -EINVAL);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_INVALID_VALUE);
  CHECK(error.message[0] != '\0');
  struct record record = {0};
  SUCCEED(tribune_ask_async(bus, NULL, "a.shouldB", NULL, NULL, 0, &options, record_message, &record), NULL);
  CHECK_EQUAL(tribune_message_get_error(await_message(bus, &record, TRIBUNE_ENDED, 1))->code,
              TRIBUNE_ERROR_INVALID_VALUE);
  record_end(&record);
  tribune_unref(bus);
}

static void ask_within(tribune_slot *slot, tribune_message *message, struct record *record)
{
  if (tribune_message_get_type(message) == TRIBUNE_QUESTION) {
    tribune *bus = tribune_slot_get_bus(slot);
    tribune_error error;
    tribune_ask_options options = {.parent = tribune_message_get_query(message)};
    *(int *)record->context = tribune_ask(bus, "host.shouldReboot", NULL, NULL, 0, &options, NULL, &error);
    CHECK_EQUAL(error.code, TRIBUNE_ERROR_RECURSION);
    CHECK_EQUAL(tribune_ask(bus, "disk.shouldEject", NULL, NULL, 0, &options, NULL, &error), 1);
    CHECK_EQUAL(tribune_process(bus, &error), -EBUSY);
    SUCCEED(tribune_approve(message), NULL);
  }
}

static void test_a_delegate_can_ask_within_its_callback(void)
{
  tribune *bus = connected();
  tribune *asker = connected();
  int result = 0;
  struct record record = {.handle = ask_within, .context = &result};
  attach(bus, &record, NULL);
  tribune_message *verdict = ask(asker, bus, "host.shouldReboot", NULL);
  CHECK(tribune_message_is_allowed(verdict));
  CHECK_EQUAL(result, -ELOOP);
  tribune_message_unref(verdict);
  record_end(&record);
  tribune_unref(bus);
  tribune_unref(asker);
}

static void drop_everything(tribune_slot *slot, tribune_message *message, struct record *record)
{
  struct record *other = record->context;
  (void)message;
  if (other->context == NULL) {
    other->context = slot;
    tribune *bus = tribune_slot_get_bus(slot);
    tribune_slot_unref(slot);
    tribune_unref(bus);
  }
}

static void test_a_callback_can_drop_everything(void)
{
  const tribune_type first[] = {TRIBUNE_READY, TRIBUNE_NOTIFICATION};
  for (size_t i = 0; i < 2; i++) {
    tribune *bus = connected();
    struct record done = {0};
    struct record one = {.context = &done};
    struct record two = {0};
    tribune_slot *slot;
    SUCCEED(tribune_observe(bus, &slot, "host.*", NULL, 0, record_message, &one), NULL);
    SUCCEED(tribune_observe(bus, NULL, "host.*", NULL, 0, record_message, &two), NULL);
    SUCCEED(tribune_delegate(bus, NULL, patterns, NULL, NULL, record_message, &two), NULL);
    if (first[i] == TRIBUNE_NOTIFICATION) {
      await_message(bus, &two, TRIBUNE_READY, 2);
    }
    one.handle = drop_everything;
    SUCCEED(tribune_post(bus, "host.willReboot", NULL, NULL, 0, NULL), NULL);
    while (one.counts[first[i]] == 0) {
      SUCCEED(tribune_wait(bus, UINT64_MAX), NULL);
      tribune_process(bus, NULL);
    }
    CHECK_EQUAL(two.counts[TRIBUNE_NOTIFICATION] + two.counts[TRIBUNE_ENDED], 0);
    record_end(&one);
    record_end(&two);
  }
}

static void test_answers_after_the_connection_fail(void)
{
  tribune *bus = connected();
  tribune *asker = connected();
  struct record record = {0};
  struct record reply = {0};
  attach(bus, &record, NULL);
  SUCCEED(tribune_ask_async(asker, NULL, "host.shouldReboot", NULL, NULL, 0, NULL, record_message, &reply), NULL);
  await_message(bus, &record, TRIBUNE_QUESTION, 1);
  tribune_unref(bus);
  CHECK_EQUAL(tribune_veto(record.messages[TRIBUNE_QUESTION], "too late"), -ESTALE);
  CHECK_EQUAL(tribune_defer(record.messages[TRIBUNE_QUESTION], 1000, NULL), -ESTALE);
  tribune_message *verdict = await_message(asker, &reply, TRIBUNE_VERDICT, 1);
  CHECK_EQUAL(tribune_message_get_outcome(verdict, 0)->kind, TRIBUNE_OUTCOME_GONE);
  record_end(&record);
  record_end(&reply);
  tribune_unref(asker);
}

static const struct test tests[] = {
    {"nobody answers", test_nobody_answers},
    {"a delegate answers", test_a_delegate_answers},
    {"a question says what is asked", test_a_question_says_what_is_asked},
    {"values are collected", test_values_are_collected},
    {"a question without an object is put to all delegates", test_a_question_without_an_object_is_put_to_all_delegates},
    {"permission is no value", test_permission_is_no_value},
    {"progress is told", test_progress_is_told},
    {"a query that is dropped is cancelled", test_a_query_that_is_dropped_is_cancelled},
    {"a delegate that leaves is gone", test_a_delegate_that_leaves_is_gone},
    {"a delegate can be replaced", test_a_delegate_can_be_replaced},
    {"the same delegate again is refused", test_the_same_delegate_again_is_refused},
    {"a delegate receives will and did", test_a_delegate_receives_will_and_did},
    {"what is no delegate is refused", test_what_is_no_delegate_is_refused},
    {"a hold vetoes until it is released", test_a_hold_vetoes_until_it_is_released},
    {"a question without an object meets the holds of all", test_a_question_without_an_object_meets_the_holds_of_all},
    {"a hold has its new reason", test_a_hold_has_its_new_reason},
    {"a hold is known to be in force before a callback", test_a_hold_is_known_to_be_in_force_before_a_callback},
    {"a hold expires", test_a_hold_expires},
    {"what is no hold is refused", test_what_is_no_hold_is_refused},
    {"the bus says why it refuses", test_the_bus_says_why_it_refuses},
    {"a delegate can ask within its callback", test_a_delegate_can_ask_within_its_callback},
    {"a callback can drop everything", test_a_callback_can_drop_everything},
    {"answers after the connection fail", test_answers_after_the_connection_fail},
};

int main(int argc, char **argv)
{
  return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
