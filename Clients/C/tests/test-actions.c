/* SPDX-License-Identifier: Apache-2.0 */

/* These tests run the real bus. */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon.h"
#include "harness.h"

#define NAME "a.shouldPrune"

static struct daemon daemon_;
static const tribune_ask_options begins = {.flags = TRIBUNE_ASK_BEGIN};

static tribune *connected(void)
{
  if (daemon_.bus == 0) {
    daemon_start(&daemon_, false);
  }
  return connect_to(&daemon_);
}

static bool is_listed(void)
{
  const char *folder = getenv("TRIBUNE_BIN_DIR");
  char command[768];
  snprintf(command, sizeof command, "TRIBUNE_ADDRESS=%s %s/tribunectl --json=short actions | grep -q " NAME,
           daemon_.address, folder == NULL ? "../../.build/release" : folder);
  return system(command) == 0;
}

static tribune_slot *hold(tribune *bus, struct record *record)
{
  tribune_slot *slot;
  tribune_error error;
  SUCCEED(tribune_hold(bus, &slot, NAME, NULL, "backup", NULL, record_message, record), NULL);
  SUCCEED(tribune_slot_wait(slot, UINT64_MAX, &error), &error);
  return slot;
}

static void test_a_hold_learns_of_an_earlier_action_and_its_end(void)
{
  /* The second action has no slot, and ends with its connection. */
  for (unsigned i = 0; i < 2; i++) {
    tribune *asker = connected();
    tribune *holder = connected();
    struct record record = {0};
    tribune_slot *action = NULL;
    tribune_error error;
    CHECK_EQUAL(i == 0 ? tribune_begin(asker, &action, NAME, "repo", NULL, 0, NULL, NULL, &error)
                       : tribune_ask(asker, NAME, "repo", NULL, 0, &begins, NULL, &error),
                1);
    CHECK(is_listed());
    tribune_slot *held = hold(holder, &record);
    CHECK_EQUAL(tribune_hold_get_late(held), 1);
    CHECK_EQUAL(tribune_hold_wait(held, 20000, &error), -ETIMEDOUT);
    CHECK(i == 1 || tribune_slot_is_in_force(action) == 1);
    tribune_slot_unref(action);
    asker = i == 0 ? asker : tribune_unref(asker);
    SUCCEED(tribune_hold_wait(held, UINT64_MAX, &error), &error);
    CHECK(!is_listed());
    await_message(holder, &record, TRIBUNE_LATE, 1);
    CHECK_EQUAL(tribune_hold_get_late(held), 0);
    tribune_slot_unref(held);
    record_end(&record);
    tribune_unref(asker);
    tribune_unref(holder);
  }
}

static void test_a_veto_begins_nothing(void)
{
  tribune *bus = connected();
  struct record record = {0};
  tribune_slot *held = hold(bus, &record);
  tribune_slot *action = held;
  tribune_error error;
  CHECK_EQUAL(tribune_begin(bus, &action, NAME, NULL, NULL, 0, NULL, NULL, &error), 0);
  CHECK(action == NULL);
  SUCCEED(tribune_ask_async(bus, &action, NAME, NULL, NULL, 0, &begins, record_message, &record), NULL);
  CHECK(!tribune_message_is_allowed(await_message(bus, &record, TRIBUNE_VERDICT, 1)));
  CHECK_EQUAL(tribune_slot_is_in_force(action), -ENOTCONN);
  CHECK(!is_listed());
  tribune_slot_unref(action);
  tribune_slot_unref(held);
  record_end(&record);
  tribune_unref(bus);
}

static void drop_it(tribune_slot *slot, tribune_message *message, struct record *record)
{
  (void)record;
  CHECK(tribune_message_is_allowed(message));
  tribune_slot_unref(slot);
}

static void test_an_action_ends_with_its_slot(void)
{
  /* The slot is dropped after the verdict, in its callback, and before the verdict. */
  for (unsigned i = 0; i < 3; i++) {
    tribune *bus = connected();
    struct record reply = {.handle = i == 1 ? drop_it : NULL};
    tribune_slot *action;
    tribune_error error;
    SUCCEED(tribune_ask_async(bus, &action, NAME, NULL, NULL, 0, &begins, record_message, &reply), NULL);
    if (i < 2) {
      await_message(bus, &reply, TRIBUNE_VERDICT, 1);
    }
    CHECK(i > 0 || (tribune_slot_is_in_force(action) == 1 && is_listed()));
    if (i != 1) {
      tribune_slot_unref(action);
    }
    SUCCEED(tribune_flush(bus, UINT64_MAX, &error), &error);
    CHECK(!is_listed());
    tribune_unref(bus);
    record_end(&reply);
  }
}

static void test_actions_that_fill_all_slots_veto(void)
{
  tribune *bus = connected();
  tribune_slot *action, *second;
  tribune_message *verdict;
  tribune_error error;
  tribune_ask_options one = {.slots = 1};
  CHECK_EQUAL(tribune_begin(bus, &action, NAME, NULL, NULL, 0, &one, NULL, &error), 1);
  CHECK_EQUAL(tribune_begin(bus, &second, NAME, "repo", NULL, 0, &one, &verdict, &error), 0);
  CHECK(second == NULL);
  CHECK_EQUAL(tribune_message_get_outcome(verdict, 0)->kind, TRIBUNE_OUTCOME_HELD);
  CHECK_TEXT(tribune_message_get_outcome(verdict, 0)->reason, NAME " is under way");
  tribune_message_unref(verdict);
  CHECK_EQUAL(tribune_ask(bus, NAME, NULL, NULL, 0, &(tribune_ask_options){.slots = 2}, NULL, &error), 1);
  tribune_slot_unref(action);
  CHECK_EQUAL(tribune_ask(bus, NAME, NULL, NULL, 0, &one, NULL, &error), 1);
  tribune_unref(bus);
}

static void test_an_action_continues_on_another_bus(void)
{
  tribune *asker = connected();
  struct record reply = {0};
  struct record record = {0};
  tribune_slot *action;
  tribune_error error;
  SUCCEED(tribune_ask_async(asker, &action, NAME, NULL, NULL, 0, &begins, record_message, &reply), NULL);
  await_message(asker, &reply, TRIBUNE_VERDICT, 1);
  daemon_stop(&daemon_, SIGKILL);
  await_end(asker);
  CHECK_EQUAL(reply.counts[TRIBUNE_ENDED], 1);
  CHECK_EQUAL(tribune_slot_is_in_force(action), -ENOTCONN);
  tribune_slot_unref(action);
  tribune_unref(asker);
  daemon_start_again(&daemon_);
  asker = connected();
  tribune *holder = connected();
  tribune_slot *held = hold(holder, &record);
  CHECK_EQUAL(tribune_hold_get_late(held), 0);
  SUCCEED(tribune_continue(asker, &action, NAME, NULL, NULL, NULL), NULL);
  SUCCEED(tribune_slot_wait(action, UINT64_MAX, &error), &error);
  await_message(holder, &record, TRIBUNE_LATE, 1);
  CHECK_EQUAL(tribune_hold_get_late(held), 1);
  tribune_slot_unref(action);
  await_message(holder, &record, TRIBUNE_LATE, 2);
  CHECK_EQUAL(tribune_hold_get_late(held), 0);
  tribune_slot_unref(held);
  record_end(&record);
  record_end(&reply);
  tribune_unref(asker);
  tribune_unref(holder);
}

static void test_what_is_no_action_is_refused(void)
{
  static const tribune_ask_options dry_run = {.flags = TRIBUNE_ASK_DRY_RUN};
  tribune *bus = connected();
  tribune_slot *action;
  tribune_error error;
  CHECK_EQUAL(tribune_begin(bus, &action, NAME, NULL, NULL, 0, &dry_run, NULL, &error), -EINVAL);
  CHECK(action == NULL);
  CHECK_EQUAL(tribune_continue(bus, &action, "a.", NULL, NULL, NULL), -EINVAL);
  SUCCEED(tribune_continue(bus, &action, "a.prune", NULL, NULL, NULL), NULL);
  CHECK_EQUAL(tribune_slot_wait(action, UINT64_MAX, &error), -EINVAL);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_INVALID_NAME);
  CHECK_EQUAL(tribune_hold_wait(action, 0, &error), -EINVAL);
  tribune_slot_unref(action);
  /* The program cannot learn this refusal otherwise. */
  SUCCEED(tribune_continue(bus, NULL, "a.prune", NULL, NULL, NULL), NULL);
  CHECK_EQUAL(await_end(bus).code, TRIBUNE_ERROR_INVALID_NAME);
  tribune_unref(bus);
}

static const struct test tests[] = {
    {"a hold learns of an earlier action and its end", test_a_hold_learns_of_an_earlier_action_and_its_end},
    {"a veto begins nothing", test_a_veto_begins_nothing},
    {"an action ends with its slot", test_an_action_ends_with_its_slot},
    {"actions that fill all slots veto", test_actions_that_fill_all_slots_veto},
    {"an action continues on another bus", test_an_action_continues_on_another_bus},
    {"what is no action is refused", test_what_is_no_action_is_refused},
};

int main(int argc, char **argv)
{
  return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
