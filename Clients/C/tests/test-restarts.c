/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon.h"
#include "harness.h"

static const char *const patterns[] = {"disk.*", NULL};

struct client {
  tribune *bus;
  struct record observation;
  struct record delegate;
  struct record hold;
  tribune_slot *observer;
  tribune_slot *chain;
  tribune_slot *held;
};

static void veto_it(tribune_slot *slot, tribune_message *message, struct record *record)
{
  (void)slot;
  (void)record;
  if (tribune_message_get_type(message) == TRIBUNE_QUESTION) {
    SUCCEED(tribune_veto(message, "still here"), NULL);
  }
}

static void register_everything(struct client *client, const struct daemon *daemon)
{
  tribune_error error;
  *client = (struct client){.bus = connect_to(daemon), .delegate.handle = veto_it};
  tribune *bus = client->bus;
  SUCCEED(tribune_observe(bus, &client->observer, "a.*", NULL, 0, record_message, &client->observation), NULL);
  SUCCEED(tribune_delegate(bus, &client->chain, patterns, NULL, NULL, record_message, &client->delegate), NULL);
  SUCCEED(tribune_hold(bus, &client->held, "host.*", NULL, "held", NULL, record_message, &client->hold), NULL);
  SUCCEED(tribune_slot_wait(client->held, UINT64_MAX, &error), &error);
  await_message(bus, &client->hold, TRIBUNE_READY, 1);
}

static void drop(struct client *client)
{
  tribune_slot_unref(client->observer);
  tribune_slot_unref(client->chain);
  tribune_slot_unref(client->held);
  record_end(&client->observation);
  record_end(&client->delegate);
  record_end(&client->hold);
  tribune_unref(client->bus);
}

static void ignore_it(tribune_slot *slot, tribune_message *message, void *userdata)
{
  (void)slot, (void)message, (void)userdata;
}

/* Waits until the keeper has all earlier registrations, as tribunectl reports. */
static void settle(const struct daemon *daemon)
{
  const char *folder = getenv("TRIBUNE_BIN_DIR");
  char command[768];
  snprintf(command, sizeof command,
           "until %s/tribunectl --json=short list >%s/list && ! grep -q '\"surviving\":false' %s/list; do :; done",
           folder == NULL ? "../../.build/release" : folder, test_folder, test_folder);
  setenv("TRIBUNE_ADDRESS", daemon->address, 1);
  CHECK_EQUAL(system(command), 0);
}

static void nothing_was_noticed(struct client *client, struct daemon *daemon)
{
  tribune_error error;
  uint64_t hold = tribune_slot_get_id(client->held);
  CHECK_EQUAL(tribune_slot_is_in_force(client->held), 1);
  SUCCEED(tribune_post(client->bus, "a.b", NULL, NULL, 0, NULL), NULL);
  await_message(client->bus, &client->observation, TRIBUNE_NOTIFICATION, 1);
  tribune_message *verdict;
  CHECK_EQUAL(tribune_ask(client->bus, "host.shouldReboot", NULL, NULL, 0, NULL, &verdict, &error), 0);
  CHECK_EQUAL(tribune_message_get_outcome(verdict, 0)->delegate, hold);
  tribune_message_unref(verdict);
  tribune *asker = connect_to(daemon);
  struct record reply = {0};
  SUCCEED(tribune_ask_async(asker, NULL, "disk.shouldEject", NULL, NULL, 0, NULL, record_message, &reply), NULL);
  await_message(client->bus, &client->delegate, TRIBUNE_QUESTION, 1);
  CHECK_TEXT(tribune_message_get_outcome(await_message(asker, &reply, TRIBUNE_VERDICT, 1), 0)->reason, "still here");
  record_end(&reply);
  tribune_unref(asker);
}

static void a_keeper_keeps_everything(int signal)
{
  struct daemon daemon;
  struct client client;
  daemon_start(&daemon, true);
  register_everything(&client, &daemon);
  settle(&daemon);
  daemon_stop(&daemon, signal);
  daemon_start_again(&daemon);
  nothing_was_noticed(&client, &daemon);
  CHECK_EQUAL(client.observation.counts[TRIBUNE_ENDED] + client.hold.counts[TRIBUNE_ENDED], 0);
  drop(&client);
}

static void test_a_planned_restart_is_not_noticed(void)
{
  a_keeper_keeps_everything(SIGTERM);
}

static void test_a_kill_is_not_noticed_with_a_keeper(void)
{
  a_keeper_keeps_everything(SIGKILL);
}

static void test_the_end_is_told_to_everybody(void)
{
  const int signals[] = {SIGKILL, SIGTERM};
  for (size_t i = 0; i < 2; i++) {
    struct daemon daemon;
    struct client client;
    if (i == 0) {
      daemon_start(&daemon, false);
    } else {
      daemon_start_again(&daemon);
    }
    register_everything(&client, &daemon);
    struct record reply = {0};
    struct record awaited = {0};
    /* The delegate does not answer, so the question stays in flight. */
    client.delegate.handle = NULL;
    SUCCEED(tribune_ask_async(client.bus, NULL, "disk.shouldEject", NULL, NULL, 0, NULL, record_message, &reply), NULL);
    tribune_message *question = await_message(client.bus, &client.delegate, TRIBUNE_QUESTION, 1);
    daemon_stop(&daemon, signals[i]);
    tribune_error error = await_end(client.bus);
    CHECK_EQUAL(error.code, i == 0 ? TRIBUNE_ERROR_CONNECTION_LOST : TRIBUNE_ERROR_SHUTTING_DOWN);
    CHECK_EQUAL(error.number, i == 0 ? -ECONNRESET : -ESHUTDOWN);
    struct record *records[] = {&client.observation, &client.delegate, &client.hold, &reply};
    for (size_t j = 0; j < sizeof records / sizeof *records; j++) {
      CHECK_EQUAL(records[j]->counts[TRIBUNE_ENDED], 1);
      CHECK_EQUAL(tribune_message_get_error(records[j]->messages[TRIBUNE_ENDED])->code, error.code);
    }
    CHECK_EQUAL(client.delegate.counts[TRIBUNE_CONCLUDED], 1);
    CHECK_EQUAL(tribune_message_get_conclusion(client.delegate.messages[TRIBUNE_CONCLUDED]),
                TRIBUNE_CONCLUSION_CANCELLED);
    CHECK_EQUAL(tribune_veto(question, "too late"), -ESTALE);
    CHECK_EQUAL(tribune_slot_is_in_force(client.held), -ENOTCONN);
    CHECK_EQUAL(tribune_slot_is_in_force(client.chain), -ENOTCONN);
    CHECK_EQUAL(tribune_slot_wait(client.held, 0, &error), -ENOTCONN);
    CHECK_EQUAL(tribune_process(client.bus, &error), -ENOTCONN);
    CHECK_EQUAL(tribune_post(client.bus, "a.b", NULL, NULL, 0, NULL), -ENOTCONN);
    CHECK_EQUAL(tribune_observe(client.bus, NULL, "a.b", NULL, 0, ignore_it, NULL), -ENOTCONN);
    CHECK_EQUAL(tribune_ask(client.bus, "a.b", NULL, NULL, 0, NULL, NULL, &error), -ENOTCONN);
    CHECK_EQUAL(tribune_flush(client.bus, 0, &error), -ENOTCONN);
    CHECK_EQUAL(tribune_get_fd(client.bus), -ENOTCONN);
    record_end(&reply);
    record_end(&awaited);
    drop(&client);
  }
}

static void test_a_function_that_waits_fails_at_the_end(void)
{
  struct daemon daemon;
  struct client client;
  daemon_start(&daemon, false);
  register_everything(&client, &daemon);
  client.delegate.handle = NULL;
  pid_t child = fork_child();
  if (child == 0) {
    /* Kills the bus when it asks the parent's delegate, which cannot answer while the parent waits. */
    tribune *bus = connect_to(&daemon);
    struct record record = {0};
    SUCCEED(tribune_observe(bus, NULL, "a.asking", NULL, 0, record_message, &record), NULL);
    SUCCEED(tribune_post(bus, "a.ready", NULL, NULL, 0, NULL), NULL);
    await_message(bus, &record, TRIBUNE_NOTIFICATION, 1);
    kill(daemon.bus, SIGKILL);
    _exit(0);
  }
  await_message(client.bus, &client.observation, TRIBUNE_NOTIFICATION, 1);
  SUCCEED(tribune_post(client.bus, "a.asking", NULL, NULL, 0, NULL), NULL);
  tribune_error error;
  CHECK_EQUAL(tribune_ask(client.bus, "disk.shouldEject", NULL, NULL, 0, NULL, NULL, &error), -ECONNRESET);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_CONNECTION_LOST);
  /* Callbacks run only in tribune_process(), which has not handled the earlier messages yet. */
  CHECK_EQUAL(client.hold.counts[TRIBUNE_ENDED], 0);
  uint64_t timeout;
  SUCCEED(tribune_get_timeout(client.bus, &timeout), NULL);
  CHECK_EQUAL(timeout, 0);
  CHECK_EQUAL(tribune_wait(client.bus, UINT64_MAX), 1);
  await_end(client.bus);
  CHECK_EQUAL(client.hold.counts[TRIBUNE_ENDED], 1);
  waitpid(child, NULL, 0);
  drop(&client);
}

static void test_a_hold_does_not_seem_to_be_in_force(void)
{
  struct daemon daemon;
  struct client client;
  daemon_start(&daemon, false);
  register_everything(&client, &daemon);
  CHECK_EQUAL(tribune_slot_is_in_force(client.held), 1);
  daemon_stop(&daemon, SIGKILL);
  CHECK_EQUAL(tribune_slot_is_in_force(client.held), -ENOTCONN);
  CHECK_EQUAL(client.hold.counts[TRIBUNE_ENDED], 0);
  await_end(client.bus);
  CHECK_EQUAL(client.hold.counts[TRIBUNE_ENDED], 1);
  drop(&client);
}

static void test_a_program_can_connect_again(void)
{
  struct daemon daemon;
  struct client client;
  daemon_start(&daemon, false);
  register_everything(&client, &daemon);
  daemon_stop(&daemon, SIGKILL);
  await_end(client.bus);
  drop(&client);
  daemon_start_again(&daemon);
  register_everything(&client, &daemon);
  nothing_was_noticed(&client, &daemon);
  drop(&client);
}

/* ---- Children ---- */

static void expect_all_fail(struct client *client, tribune_message *question)
{
  tribune_error error = {0};
  uint64_t usec;
  CHECK_EQUAL(tribune_process(client->bus, &error), -ECHILD);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_FORKED);
  CHECK_EQUAL(tribune_wait(client->bus, 0), -ECHILD);
  CHECK_EQUAL(tribune_get_fd(client->bus), -ECHILD);
  CHECK_EQUAL(tribune_get_events(client->bus), -ECHILD);
  CHECK_EQUAL(tribune_get_timeout(client->bus, &usec), -ECHILD);
  CHECK_EQUAL(tribune_flush(client->bus, 0, &error), -ECHILD);
  CHECK_EQUAL(tribune_post(client->bus, "a.b", NULL, NULL, 0, NULL), -ECHILD);
  CHECK_EQUAL(tribune_post_acknowledged(client->bus, "a.b", NULL, NULL, 0, NULL, &error), -ECHILD);
  CHECK_EQUAL(tribune_ask(client->bus, "a.b", NULL, NULL, 0, NULL, NULL, &error), -ECHILD);
  CHECK_EQUAL(tribune_observe(client->bus, NULL, "a.b", NULL, 0, ignore_it, NULL), -ECHILD);
  CHECK_EQUAL(tribune_delegate(client->bus, NULL, patterns, NULL, NULL, ignore_it, NULL), -ECHILD);
  CHECK_EQUAL(tribune_hold(client->bus, NULL, "a.b", NULL, "why", NULL, NULL, NULL), -ECHILD);
  CHECK_EQUAL(tribune_slot_is_in_force(client->held), -ECHILD);
  CHECK_EQUAL(tribune_slot_wait(client->held, 0, &error), -ECHILD);
  CHECK_EQUAL(tribune_approve(question), -ECHILD);
}

static void test_a_child_of_fork_can_do_nothing(void)
{
  struct daemon daemon;
  struct client client;
  daemon_start(&daemon, false);
  register_everything(&client, &daemon);
  client.delegate.handle = NULL;
  tribune *asker = connect_to(&daemon);
  struct record reply = {0};
  SUCCEED(tribune_ask_async(asker, NULL, "disk.shouldEject", NULL, NULL, 0, NULL, record_message, &reply), NULL);
  tribune_message *question = await_message(client.bus, &client.delegate, TRIBUNE_QUESTION, 1);
  pid_t child = fork_child();
  if (child == 0) {
    expect_all_fail(&client, question);
    drop(&client);
    record_end(&reply);
    tribune_unref(asker);
    exit(0);
  }
  int status;
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  CHECK_EQUAL(status, 0);
  SUCCEED(tribune_veto(question, "still here"), NULL);
  CHECK_TEXT(tribune_message_get_outcome(await_message(asker, &reply, TRIBUNE_VERDICT, 1), 0)->reason, "still here");
  client.delegate.handle = veto_it;
  client.delegate.counts[TRIBUNE_QUESTION] = 0;
  nothing_was_noticed(&client, &daemon);
  record_end(&reply);
  tribune_unref(asker);
  drop(&client);
}

static const struct test tests[] = {
    {"a planned restart is not noticed", test_a_planned_restart_is_not_noticed},
    {"a kill is not noticed with a keeper", test_a_kill_is_not_noticed_with_a_keeper},
    {"the end is told to everybody", test_the_end_is_told_to_everybody},
    {"a function that waits fails at the end", test_a_function_that_waits_fails_at_the_end},
    {"a hold does not seem to be in force", test_a_hold_does_not_seem_to_be_in_force},
    {"a program can connect again", test_a_program_can_connect_again},
    {"a child of fork can do nothing", test_a_child_of_fork_can_do_nothing},
};

int main(int argc, char **argv)
{
  return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
