/* SPDX-License-Identifier: Apache-2.0 */

/* These tests run the real bus. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

/* Observes, and returns when the observation is in force. */
static void observe(tribune *bus, const char *pattern, unsigned flags, struct record *record)
{
  SUCCEED(tribune_observe(bus, NULL, pattern, NULL, flags, record_message, record), NULL);
  await_message(bus, record, TRIBUNE_READY, 1);
}

static tribune_slot *observe_for_now(tribune *bus, const char *pattern, unsigned flags, struct record *record)
{
  tribune_slot *slot;
  tribune_error error;
  SUCCEED(tribune_observe(bus, &slot, pattern, NULL, flags, record_message, record), NULL);
  SUCCEED(tribune_slot_wait(slot, UINT64_MAX, &error), &error);
  return slot;
}

static void post(tribune *bus, const char *name, const char *object, const char *text, unsigned flags)
{
  tribune_post_options options = {.flags = flags};
  SUCCEED(tribune_post(bus, name, object, text, TRIBUNE_STRING, &options), NULL);
}

static void check_user_info(const tribune_message *message, const char *expected)
{
  size_t size;
  const void *data = tribune_message_get_user_info(message, &size);
  CHECK_EQUAL(size, strlen(expected));
  CHECK(memcmp(data, expected, size) == 0);
}

static void test_an_observer_receives_what_matches(void)
{
  tribune *one = connected();
  tribune *other = connected();
  struct record record = {0};
  tribune_slot *slot = observe_for_now(one, "window.*", 0, &record);
  post(other, "door.didOpen", "door/1", "{}", 0);
  post(other, "window.didOpen", "window/7", "{\"x\": 1}", 0);
  tribune_message *message = await_message(one, &record, TRIBUNE_NOTIFICATION, 1);
  CHECK_EQUAL(record.counts[TRIBUNE_READY], 1);
  CHECK_TEXT(tribune_message_get_name(message), "window.didOpen");
  CHECK_TEXT(tribune_message_get_object(message), "window/7");
  check_user_info(message, "{\"x\": 1}");
  uint64_t id;
  SUCCEED(tribune_get_id(other, &id), NULL);
  CHECK_EQUAL(tribune_message_get_sender(message), id);
  CHECK(tribune_message_get_peer(message) == NULL);
  CHECK(!tribune_message_is_retained(message) && !tribune_message_is_awaited(message));
  CHECK_EQUAL(tribune_done(message), -EINVAL);
  tribune_slot_unref(slot);
  record_end(&record);
  tribune_unref(one);
  tribune_unref(other);
}

static void test_each_observation_has_its_own_pattern_and_object(void)
{
  tribune *bus = connected();
  struct record all = {0};
  struct record one = {0};
  struct record none = {0};
  SUCCEED(tribune_observe(bus, NULL, NULL, NULL, 0, record_message, &all), NULL);
  SUCCEED(tribune_observe(bus, NULL, "a.**", "x", 0, record_message, &one), NULL);
  SUCCEED(tribune_observe(bus, NULL, "a.*.c", NULL, 0, record_message, &none), NULL);
  post(bus, "a.b", "x", NULL, 0);
  post(bus, "a.b", "y", NULL, 0);
  post(bus, "b.a", "x", NULL, 0);
  await_message(bus, &all, TRIBUNE_NOTIFICATION, 3);
  CHECK_EQUAL(one.counts[TRIBUNE_NOTIFICATION], 1);
  CHECK_EQUAL(none.counts[TRIBUNE_NOTIFICATION], 0);
  tribune_unref(bus);
  record_end(&all);
  record_end(&one);
  record_end(&none);
}

static void test_an_observation_that_was_dropped_receives_nothing(void)
{
  tribune *bus = connected();
  struct record dropped = {0};
  struct record kept = {0};
  tribune_slot *slot = observe_for_now(bus, "a.*", 0, &dropped);
  SUCCEED(tribune_observe(bus, NULL, "a.*", NULL, 0, record_message, &kept), NULL);
  post(bus, "a.b", NULL, NULL, 0);
  tribune_slot_unref(slot);
  await_message(bus, &kept, TRIBUNE_NOTIFICATION, 1);
  CHECK_EQUAL(dropped.counts[TRIBUNE_NOTIFICATION], 0);
  tribune_unref(bus);
  record_end(&dropped);
  record_end(&kept);
}

static void test_retained_notifications_come_before_new_ones(void)
{
  tribune *bus = connected();
  struct record record = {0};
  post(bus, "weather.didChange", "rome", "1", TRIBUNE_POST_RETAIN);
  post(bus, "weather.didChange", "oslo", "2", TRIBUNE_POST_RETAIN);
  SUCCEED(tribune_observe(bus, NULL, "weather.*", NULL, TRIBUNE_OBSERVE_RETAINED, record_message, &record), NULL);
  await_message(bus, &record, TRIBUNE_NOTIFICATION, 2);
  await_message(bus, &record, TRIBUNE_READY, 1);
  CHECK(tribune_message_is_retained(record.messages[TRIBUNE_NOTIFICATION]));
  check_user_info(record.messages[TRIBUNE_NOTIFICATION], "2");
  post(bus, "weather.didChange", "oslo", "3", 0);
  CHECK(!tribune_message_is_retained(await_message(bus, &record, TRIBUNE_NOTIFICATION, 3)));
  tribune_unref(bus);
  record_end(&record);
}

static void test_a_bound_notification_goes_with_its_poster(void)
{
  tribune *observer = connected();
  tribune *service = connected();
  struct record record = {0};
  observe(observer, "svc.*", 0, &record);
  post(service, "svc.status", "a", "up", TRIBUNE_POST_RETAIN | TRIBUNE_POST_BOUND);
  await_message(observer, &record, TRIBUNE_NOTIFICATION, 1);
  tribune_unref(service);
  check_user_info(await_message(observer, &record, TRIBUNE_NOTIFICATION, 2), "");
  tribune_unref(observer);
  record_end(&record);
}

static void test_a_notification_that_waits_is_not_for_a_later_observation(void)
{
  tribune *bus = connected();
  struct record first = {0};
  struct record second = {0};
  observe(bus, "a.*", 0, &first);
  tribune_error error;
  SUCCEED(tribune_post_acknowledged(bus, "a.b", NULL, "1", TRIBUNE_STRING,
                                    &(tribune_post_options){.flags = TRIBUNE_POST_RETAIN}, &error),
          &error);
  tribune_slot *slot = observe_for_now(bus, "a.*", TRIBUNE_OBSERVE_RETAINED, &second);
  CHECK_EQUAL(first.counts[TRIBUNE_NOTIFICATION], 0);
  post(bus, "a.c", NULL, "2", 0);
  await_message(bus, &first, TRIBUNE_NOTIFICATION, 2);
  CHECK_EQUAL(second.counts[TRIBUNE_NOTIFICATION], 2);
  tribune_slot_unref(slot);
  record_end(&first);
  record_end(&second);
  tribune_unref(bus);
}

static void long_user_info(size_t size, bool to_a_callback)
{
  tribune *bus = connected();
  struct record record = {0};
  observe(bus, "a.*", 0, &record);
  char *data = malloc(size);
  CHECK(data != NULL);
  for (size_t i = 0; i < size; i++) {
    data[i] = (char)(i * 7);
  }
  tribune_error error;
  if (to_a_callback) {
    SUCCEED(tribune_post(bus, "a.b", NULL, data, size, NULL), NULL);
  } else {
    SUCCEED(tribune_post_acknowledged(bus, "a.b", NULL, data, size, NULL, &error), &error);
  }
  size_t found;
  const void *received = tribune_message_get_user_info(await_message(bus, &record, TRIBUNE_NOTIFICATION, 1), &found);
  CHECK_EQUAL(found, size);
  CHECK(memcmp(received, data, size) == 0);
  free(data);
  tribune_unref(bus);
  /* The message outlives the connection. */
  CHECK(tribune_message_get_user_info(record.messages[TRIBUNE_NOTIFICATION], NULL) == received);
  record_end(&record);
}

static void test_user_info_of_each_length_arrives(void)
{
  const size_t sizes[] = {0, 1, 65535, 65536, 65537, (size_t)5 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    long_user_info(sizes[i], i % 2 == 0);
  }
}

static void test_user_info_that_is_too_long_is_refused(void)
{
  tribune *bus = connected();
  size_t size = tribune_get_payload_max(bus) + 1;
  char *data = calloc(1, size);
  tribune_error error;
  CHECK_EQUAL(tribune_post(bus, "a.b", NULL, data, size, NULL), -EMSGSIZE);
  CHECK_EQUAL(tribune_ask(bus, "a.shouldB", NULL, data, size, NULL, NULL, &error), -EMSGSIZE);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_PAYLOAD_TOO_LONG);
  free(data);
  tribune_unref(bus);
}

static void test_what_is_no_name_is_refused(void)
{
  static const struct {
    const char *name;
    const char *object;
    int result;
    int code;
  } table[] = {
      {NULL, NULL, -EINVAL, TRIBUNE_ERROR_INVALID_NAME},
      {"", NULL, -EINVAL, TRIBUNE_ERROR_INVALID_NAME},
      {"a..b", NULL, -EINVAL, TRIBUNE_ERROR_INVALID_NAME},
      {"a.*", NULL, -EINVAL, TRIBUNE_ERROR_INVALID_NAME},
      {"a.b\n", NULL, -EINVAL, TRIBUNE_ERROR_INVALID_NAME},
      {"tribune.bus.willStop", NULL, -EACCES, TRIBUNE_ERROR_RESERVED_NAME},
      {"a.b", "x\x1b", -EINVAL, TRIBUNE_ERROR_INVALID_OBJECT},
      {"a.b", "x\xff", -EINVAL, TRIBUNE_ERROR_INVALID_OBJECT},
  };
  tribune *bus = connected();
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    tribune_error error = {0};
    int result = tribune_post_acknowledged(bus, table[i].name, table[i].object, NULL, 0, NULL, &error);
    CHECK_EQUAL(result, table[i].result);
    CHECK_EQUAL(error.number, table[i].result);
    CHECK_EQUAL(error.code, table[i].code);
    CHECK(error.message[0] != '\0' && strpbrk(error.message, "\x1b\xff") == NULL);
    CHECK_EQUAL(tribune_post(bus, table[i].name, table[i].object, NULL, 0, NULL), table[i].result);
  }
  CHECK_EQUAL(tribune_post(bus, "a.b", NULL, NULL, 1, NULL), -EINVAL);
  SUCCEED(tribune_post(bus, "a.b", NULL, NULL, TRIBUNE_STRING, NULL), NULL);
  CHECK_EQUAL(tribune_post(bus, "a.b", NULL, NULL, 0, &(tribune_post_options){.flags = 16}), -EINVAL);
  CHECK_EQUAL(tribune_observe(bus, NULL, "a.b*", NULL, 0, record_message, NULL), -EINVAL);
  CHECK_EQUAL(tribune_observe(bus, NULL, "a.b", NULL, 0, NULL, NULL), -EINVAL);
  tribune_unref(bus);
}

/* ---- Awaited ---- */

/* Posts an awaited notification from a child process. Returns the read end of a pipe that gets a byte after success. */
static int post_awaited_elsewhere(const char *expected_reason, unsigned acknowledged)
{
  int ends[2];
  CHECK_EQUAL(pipe2(ends, O_CLOEXEC), 0);
  pid_t child = fork_child();
  if (child > 0) {
    close(ends[1]);
    return ends[0];
  }
  tribune *bus = connect_to(&daemon_);
  tribune_message *reply;
  tribune_error error;
  int result = tribune_post_awaited(bus, "disk.willUnmount", "disk/1", NULL, 0, NULL, &reply, &error);
  SUCCEED(result, &error);
  CHECK_EQUAL(tribune_message_get_type(reply), TRIBUNE_AWAITED);
  CHECK_EQUAL(tribune_message_get_acknowledged(reply), acknowledged);
  const tribune_missing *missing = tribune_message_get_missing(reply, 0);
  CHECK_EQUAL(result, missing == NULL);
  if (expected_reason != NULL) {
    CHECK(missing != NULL);
    CHECK_EQUAL(missing->failure, TRIBUNE_FAILURE_FAILED);
    CHECK_TEXT(missing->reason, expected_reason);
    CHECK_EQUAL(missing->peer->pid, getppid());
    CHECK_EQUAL(missing->peer->uid, getuid());
    CHECK(missing->peer->process[0] != '\0');
  } else {
    CHECK(missing == NULL);
  }
  CHECK(tribune_message_get_missing(reply, 1) == NULL);
  tribune_message_unref(reply);
  tribune_unref(bus);
  CHECK_EQUAL(write(ends[1], "y", 1), 1);
  close(ends[0]);
  close(ends[1]);
  exit(0);
}

static void expect_success(int result)
{
  char letter;
  CHECK_EQUAL(read(result, &letter, 1), 1);
  close(result);
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

static void test_a_poster_waits_until_observers_are_done(void)
{
  tribune *bus = connected();
  struct record one = {0};
  struct record two = {0};
  struct record plain = {0};
  observe(bus, "disk.*", TRIBUNE_OBSERVE_AWAITED, &one);
  observe(bus, "disk.willUnmount", TRIBUNE_OBSERVE_AWAITED, &two);
  observe(bus, "disk.willUnmount", 0, &plain);
  int result = post_awaited_elsewhere(NULL, 1);
  await_message(bus, &plain, TRIBUNE_NOTIFICATION, 1);
  tribune_message *first = await_message(bus, &one, TRIBUNE_NOTIFICATION, 1);
  tribune_message *second = await_message(bus, &two, TRIBUNE_NOTIFICATION, 1);
  CHECK(tribune_message_is_awaited(first) && tribune_message_is_awaited(second));
  CHECK(!tribune_message_is_awaited(plain.messages[TRIBUNE_NOTIFICATION]));
  SUCCEED(tribune_done(second), NULL);
  CHECK_EQUAL(tribune_done(second), -ESTALE);
  SUCCEED(tribune_done(first), NULL);
  expect_success(result);
  record_end(&one);
  record_end(&two);
  record_end(&plain);
  tribune_unref(bus);
}

static void fail_it(tribune_slot *slot, tribune_message *message, void *userdata)
{
  (void)slot;
  if (tribune_message_get_type(message) == TRIBUNE_NOTIFICATION) {
    SUCCEED(tribune_fail(message, "the disk is busy"), NULL);
    CHECK_EQUAL(tribune_done(message), -ESTALE);
    *(bool *)userdata = true;
  }
}

static void forget_it(tribune_slot *slot, tribune_message *message, void *userdata)
{
  (void)slot;
  *(bool *)userdata = tribune_message_get_type(message) == TRIBUNE_NOTIFICATION;
}

static void drop_the_slot(tribune_slot *slot, tribune_message *message, void *userdata)
{
  if (tribune_message_get_type(message) == TRIBUNE_NOTIFICATION) {
    tribune_slot_unref(slot);
    *(bool *)userdata = true;
  }
}

static void fails_with(tribune_callback callback, const char *reason)
{
  tribune *bus = connected();
  bool is_done = false;
  tribune_slot *slot;
  SUCCEED(tribune_observe(bus, &slot, "disk.*", NULL, TRIBUNE_OBSERVE_AWAITED, callback, &is_done), NULL);
  tribune_error error;
  SUCCEED(tribune_slot_wait(slot, UINT64_MAX, &error), &error);
  int result = post_awaited_elsewhere(reason, 0);
  while (!is_done) {
    SUCCEED(tribune_wait(bus, UINT64_MAX), NULL);
    SUCCEED(tribune_process(bus, &error), &error);
  }
  expect_success(result);
  if (callback != drop_the_slot) {
    tribune_slot_unref(slot);
  }
  tribune_unref(bus);
}

static void test_an_observer_says_why_it_failed(void)
{
  fails_with(fail_it, "the disk is busy");
}

static void test_a_notification_that_is_forgotten_has_failed(void)
{
  fails_with(forget_it, "the observer released the notification without an acknowledgement");
  fails_with(drop_the_slot, "the observer released the notification without an acknowledgement");
}

static void test_an_observation_that_is_taken_back_is_not_waited_for(void)
{
  tribune *bus = connected();
  struct record record = {0};
  tribune_slot *slot = observe_for_now(bus, "disk.*", TRIBUNE_OBSERVE_AWAITED, &record);
  tribune *poster = connected();
  struct record reply = {0};
  SUCCEED(tribune_post_awaited_async(poster, NULL, "disk.willUnmount", NULL, NULL, 0, NULL, record_message, &reply),
          NULL);
  tribune_error error;
  SUCCEED(tribune_flush(poster, UINT64_MAX, &error), &error);
  tribune_slot_unref(slot);
  while (reply.counts[TRIBUNE_AWAITED] == 0) {
    SUCCEED(tribune_process(bus, NULL), NULL);
    SUCCEED(tribune_process(poster, NULL), NULL);
  }
  CHECK_TEXT(tribune_message_get_missing(reply.messages[TRIBUNE_AWAITED], 0)->reason, "the observation was taken back");
  record_end(&record);
  record_end(&reply);
  tribune_unref(bus);
  tribune_unref(poster);
}

static void test_a_post_is_acknowledged_in_a_callback(void)
{
  tribune *bus = connected();
  struct record record = {0};
  tribune_slot *slot;
  SUCCEED(tribune_post_acknowledged_async(bus, &slot, "a.b", NULL, NULL, 0, NULL, record_message, &record), NULL);
  CHECK_EQUAL(tribune_slot_is_in_force(slot), 0);
  await_message(bus, &record, TRIBUNE_ACKNOWLEDGED, 1);
  CHECK_EQUAL(tribune_slot_is_in_force(slot), -ENOTCONN);
  CHECK(tribune_slot_get_bus(slot) == NULL);
  tribune_slot_unref(slot);
  record_end(&record);
  tribune_unref(bus);
}

/* ---- Losses, posters ---- */

static void test_losses_are_told(void)
{
  tribune *bus = connected();
  tribune *poster = connected();
  struct record record = {0};
  observe(bus, "a.*", 0, &record);
  char data[4000];
  memset(data, 'x', sizeof data);
  const unsigned all = 4000;
  tribune_error error;
  for (unsigned i = 0; i < all; i++) {
    int result = tribune_post(poster, "a.b", NULL, data, sizeof data, NULL);
    if (result == -ENOBUFS) {
      SUCCEED(tribune_flush(poster, UINT64_MAX, &error), &error);
      result = tribune_post(poster, "a.b", NULL, data, sizeof data, NULL);
    }
    SUCCEED(result, NULL);
  }
  SUCCEED(tribune_flush(poster, UINT64_MAX, &error), &error);
  SUCCEED(tribune_post(poster, "a.last", NULL, NULL, 0, NULL), NULL);
  while (record.messages[TRIBUNE_NOTIFICATION] == NULL
         || strcmp(tribune_message_get_name(record.messages[TRIBUNE_NOTIFICATION]), "a.last") != 0) {
    SUCCEED(tribune_wait(bus, UINT64_MAX), NULL);
    SUCCEED(tribune_process(bus, &error), &error);
  }
  CHECK(record.lost > 0);
  CHECK_EQUAL(record.counts[TRIBUNE_NOTIFICATION] + record.lost, all + 1);
  record_end(&record);
  tribune_unref(bus);
  tribune_unref(poster);
}

static void test_a_program_that_waits_loses_nothing(void)
{
  tribune *bus = connected();
  tribune *poster = connected();
  struct record record = {0};
  observe(bus, "a.*", 0, &record);
  char data[60000];
  memset(data, 'x', sizeof data);
  const unsigned all = 400;
  tribune_error error;
  for (unsigned i = 0; i < all; i++) {
    SUCCEED(tribune_post(poster, "a.b", NULL, data, sizeof data, NULL), NULL);
    SUCCEED(tribune_flush(poster, UINT64_MAX, &error), &error);
    SUCCEED(tribune_flush(bus, UINT64_MAX, &error), &error);
  }
  CHECK_EQUAL(record.counts[TRIBUNE_NOTIFICATION], 0);
  await_message(bus, &record, TRIBUNE_NOTIFICATION, all);
  CHECK_EQUAL(record.lost, 0);
  record_end(&record);
  tribune_unref(bus);
  tribune_unref(poster);
}

static void test_a_function_that_waits_also_waits_for_space(void)
{
  tribune *bus = connected();
  char data[60000];
  memset(data, 'x', sizeof data);
  CHECK_EQUAL(kill(daemon_.bus, SIGSTOP), 0);
  while (tribune_post(bus, "a.b", NULL, data, sizeof data, NULL) == 0) {
  }
  CHECK_EQUAL(tribune_post(bus, "a.b", NULL, NULL, 0, NULL), -ENOBUFS);
  CHECK_EQUAL(kill(daemon_.bus, SIGCONT), 0);
  tribune_error error;
  SUCCEED(tribune_post_acknowledged(bus, "a.b", NULL, NULL, 0, NULL, &error), &error);
  SUCCEED(tribune_post(bus, "a.b", NULL, NULL, 0, NULL), NULL);
  tribune_unref(bus);
}

static void test_a_poster_is_known_if_that_is_wanted(void)
{
  tribune *poster = connected();
  tribune *bus;
  tribune_error error;
  SUCCEED(tribune_open(&bus, daemon_.address, TRIBUNE_OPEN_POSTERS, UINT64_MAX, &error), &error);
  struct record record = {0};
  observe(bus, "a.*", 0, &record);
  post(poster, "a.b", NULL, NULL, 0);
  const tribune_peer *peer = tribune_message_get_peer(await_message(bus, &record, TRIBUNE_NOTIFICATION, 1));
  CHECK(peer != NULL);
  CHECK_EQUAL(peer->pid, getpid());
  CHECK_EQUAL(peer->uid, getuid());
  CHECK_EQUAL(peer->gid, getgid());
  CHECK(peer->process[0] != '\0' && peer->system_unit != NULL && peer->user_unit != NULL);
  tribune_unref(bus);
  /* The peer lives as long as the message. */
  CHECK_EQUAL(peer->pid, getpid());
  record_end(&record);
  tribune_unref(poster);
}

static void test_a_flush_waits_until_the_bus_has_everything(void)
{
  tribune *bus = connected();
  tribune *poster = connected();
  struct record record = {0};
  tribune_error error;
  post(poster, "a.b", NULL, "1", TRIBUNE_POST_RETAIN);
  SUCCEED(tribune_flush(poster, UINT64_MAX, &error), &error);
  observe(bus, "a.*", TRIBUNE_OBSERVE_RETAINED, &record);
  await_message(bus, &record, TRIBUNE_NOTIFICATION, 1);
  record_end(&record);
  tribune_unref(bus);
  tribune_unref(poster);
}

static void test_a_connection_that_nobody_waited_for_works(void)
{
  tribune_unref(connected());
  tribune *bus;
  tribune_error error;
  SUCCEED(tribune_open(&bus, daemon_.address, 0, 0, &error), &error);
  uint64_t id;
  CHECK_EQUAL(tribune_get_id(bus, &id), -EAGAIN);
  struct record record = {0};
  SUCCEED(tribune_observe(bus, NULL, "a.*", NULL, 0, record_message, &record), NULL);
  post(bus, "a.b", NULL, NULL, 0);
  await_message(bus, &record, TRIBUNE_NOTIFICATION, 1);
  SUCCEED(tribune_get_id(bus, &id), NULL);
  record_end(&record);
  tribune_unref(bus);
}

static const struct test tests[] = {
    {"an observer receives what matches", test_an_observer_receives_what_matches},
    {"each observation has its own pattern and object", test_each_observation_has_its_own_pattern_and_object},
    {"an observation that was dropped receives nothing", test_an_observation_that_was_dropped_receives_nothing},
    {"retained notifications come before new ones", test_retained_notifications_come_before_new_ones},
    {"a bound notification goes with its poster", test_a_bound_notification_goes_with_its_poster},
    {"a notification that waits is not for a later observation",
     test_a_notification_that_waits_is_not_for_a_later_observation},
    {"userInfo of each length arrives", test_user_info_of_each_length_arrives},
    {"userInfo that is too long is refused", test_user_info_that_is_too_long_is_refused},
    {"what is no name is refused", test_what_is_no_name_is_refused},
    {"a poster waits until observers are done", test_a_poster_waits_until_observers_are_done},
    {"an observer says why it failed", test_an_observer_says_why_it_failed},
    {"a notification that is forgotten has failed", test_a_notification_that_is_forgotten_has_failed},
    {"an observation that is taken back is not waited for", test_an_observation_that_is_taken_back_is_not_waited_for},
    {"a post is acknowledged in a callback", test_a_post_is_acknowledged_in_a_callback},
    {"losses are told", test_losses_are_told},
    {"a program that waits loses nothing", test_a_program_that_waits_loses_nothing},
    {"a function that waits also waits for space", test_a_function_that_waits_also_waits_for_space},
    {"a poster is known if that is wanted", test_a_poster_is_known_if_that_is_wanted},
    {"a flush waits until the bus has everything", test_a_flush_waits_until_the_bus_has_everything},
    {"a connection that nobody waited for works", test_a_connection_that_nobody_waited_for_works},
};

int main(int argc, char **argv)
{
  return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
