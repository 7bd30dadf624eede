/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../src/bus.h"
#include "harness.h"
#include "peer.h"

/* ---- Greetings ---- */

static void test_what_does_not_greet_is_no_bus(void)
{
  static const struct {
    const char *bytes;
    size_t length;
    int code;
  } table[] = {
      {"HTTP/1.1 400 Bad Request\r\n", 26, TRIBUNE_ERROR_PROTOCOL_VIOLATION},
      {"\xF1TRIBUNF", 8, TRIBUNE_ERROR_PROTOCOL_VIOLATION},
      {"\xF1TRIB", 5, TRIBUNE_ERROR_CONNECTION_LOST},
      {"", 0, TRIBUNE_ERROR_CONNECTION_LOST},
      {"\xF1TRIBUNE\x03\0\x02\0\0\0\0\0", 16, TRIBUNE_ERROR_UNSUPPORTED_VERSION},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    begin();
    put(table[i].bytes, table[i].length);
    shutdown(peer, SHUT_WR);
    expect_end(table[i].code);
    end();
  }
}

static void test_the_first_frame_is_a_welcome_or_a_refusal(void)
{
  begin();
  put_hello(&(struct hello){1, 1, 0});
  put_frame(WIRE_KIND_LOST, 0, 0, "\1\0\0\0\0\0\0\0", 8, NULL, NULL);
  expect_end(TRIBUNE_ERROR_PROTOCOL_VIOLATION);
  end();
  begin();
  put_hello(&(struct hello){1, 1, 0});
  put_frame(WIRE_KIND_ERROR, 0, 0, "\x0A\0", 2, NULL, "the bus has 1 connection");
  tribune_error error = await_end(bus);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_TOO_MANY_CONNECTIONS);
  CHECK_TEXT(error.message, "the bus has 1 connection");
  end();
}

static void test_a_listener_that_is_silent_is_not_waited_for(void)
{
  char path[100];
  snprintf(path, sizeof path, "%s/silent", test_folder);
  snprintf(address, sizeof address, "unix:%s", path);
  int listener = listen_at(path);
  tribune_error error;
  CHECK_EQUAL(tribune_open(&bus, address, 0, 20000, &error), -ETIMEDOUT);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_UNREACHABLE);
  close(listener);
}

static void test_a_welcome_that_does_not_come_ends_the_connection(void)
{
  begin();
  uint64_t until;
  SUCCEED(tribune_get_timeout(bus, &until), NULL);
  CHECK(until > 0 && until != UINT64_MAX);
  CHECK_EQUAL(tribune_process(bus, NULL), 0);
  bus->greeting_until_usec = 1;
  CHECK_EQUAL(tribune_wait(bus, UINT64_MAX), 1);
  tribune_error error;
  CHECK_EQUAL(tribune_process(bus, &error), -ETIMEDOUT);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_UNREACHABLE);
  end();
}

static void test_a_full_backlog_is_waited_for(void)
{
  char path[100];
  snprintf(path, sizeof path, "%s/full", test_folder);
  snprintf(address, sizeof address, "unix:%s", path);
  int listener = listen_at(path);
  tribune *others[2];
  tribune_error error;
  SUCCEED(tribune_open(&others[0], address, 0, 0, &error), &error);
  SUCCEED(tribune_open(&others[1], address, 0, 0, &error), &error);
  CHECK_EQUAL(tribune_open(&bus, address, 0, 0, &error), -EAGAIN);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_UNREACHABLE);
  struct timespec before;
  struct timespec after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  CHECK_EQUAL(tribune_open(&bus, address, 0, 40000, &error), -EAGAIN);
  clock_gettime(CLOCK_MONOTONIC, &after);
  CHECK((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec > 10000000);
  tribune_unref(others[0]);
  tribune_unref(others[1]);
  close(listener);
}

static void test_a_failure_of_this_process_does_not_mean_that_there_is_no_bus(void)
{
  char path[100];
  snprintf(path, sizeof path, "%s/loop", test_folder);
  snprintf(address, sizeof address, "unix:%s", path);
  CHECK_EQUAL(symlink("loop", path), 0);
  tribune_error error;
  CHECK_EQUAL(tribune_open(&bus, address, 0, 0, &error), -ELOOP);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_SYSTEM);
}

static void test_addresses_are_found(void)
{
  char path[200];
  tribune_error error;
  unsetenv("RUNTIME_DIRECTORY");
  unsetenv("XDG_RUNTIME_DIR");
  setenv("TRIBUNE_ADDRESS", "tcp:host", 1);
  CHECK_EQUAL(tribune_open(&bus, NULL, 0, 0, &error), -EINVAL);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_INVALID_ADDRESS);
  CHECK_EQUAL(tribune_open(&bus, "unix:", 0, 0, &error), -EINVAL);
  memset(path, 'x', sizeof path - 1);
  memcpy(path, "unix:", 5);
  path[sizeof path - 1] = '\0';
  CHECK_EQUAL(tribune_open(&bus, path, 0, 0, &error), -EINVAL);
  snprintf(path, sizeof path, "unix:%s/nobody", test_folder);
  setenv("TRIBUNE_ADDRESS", path, 1);
  CHECK_EQUAL(tribune_open(&bus, NULL, 0, 0, &error), -ENOENT);
  CHECK_EQUAL(tribune_open(&bus, "", 0, 0, NULL), -EINVAL);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_UNREACHABLE);
  CHECK(strstr(error.message, path) != NULL);
  unsetenv("TRIBUNE_ADDRESS");
  snprintf(path, sizeof path, "%s/tribune", test_folder);
  CHECK_EQUAL(mkdir(path, 0700), 0);
  snprintf(path, sizeof path, "%s/tribune/bus", test_folder);
  int listener = listen_at(path);
  if (geteuid() != 0) {
    setenv("XDG_RUNTIME_DIR", test_folder, 1);
    SUCCEED(tribune_open(&bus, NULL, 0, 0, &error), &error);
    tribune_unref(bus);
  }
  close(listener);
  setenv("XDG_RUNTIME_DIR", test_folder, 1);
  tribune_open(&bus, NULL, 0, 0, &error);
  CHECK(strstr(error.message, geteuid() == 0 ? "/run/tribune/bus" : path) != NULL);
  snprintf(path, sizeof path, "/proc:%s/tribune", test_folder);
  setenv("RUNTIME_DIRECTORY", path, 1);
  CHECK_EQUAL(tribune_open(&bus, NULL, 0, 0, &error), -ECONNREFUSED);
  if (geteuid() == 0) {
    /* The library does not trust another user's folder. */
    CHECK_EQUAL(chown(path + strlen("/proc:"), 1, 1), 0);
    setenv("RUNTIME_DIRECTORY", path + strlen("/proc:"), 1);
    tribune_open(&bus, NULL, 0, 0, &error);
    CHECK(strstr(error.message, "/run/tribune/bus") != NULL);
  }
}

static void test_a_bus_of_another_user_is_not_believed(void)
{
  if (geteuid() != 0) {
    printf("test-peers: only root can serve a bus as another user\n");
    return;
  }
  char path[100];
  snprintf(path, sizeof path, "unix:%s/bus", test_folder);
  CHECK_EQUAL(chown(test_folder, 65534, 65534), 0);
  CHECK_EQUAL(seteuid(1), 0);
  CHECK_EQUAL(seteuid(0), 0);
  int listener = listen_at(path + strlen("unix:"));
  CHECK_EQUAL(seteuid(65534), 0);
  CHECK_EQUAL(listen(listener, 1), 0);
  CHECK_EQUAL(seteuid(0), 0);
  CHECK_EQUAL(chown(test_folder, 0, 0), 0);
  tribune_error error;
  for (int inherits_address = 0; inherits_address < 2; inherits_address++) {
    unsetenv("TRIBUNE_ADDRESS");
    unsetenv("RUNTIME_DIRECTORY");
    setenv(inherits_address ? "TRIBUNE_ADDRESS" : "RUNTIME_DIRECTORY", inherits_address ? path : test_folder, 1);
    CHECK_EQUAL(tribune_open(&bus, NULL, 0, 0, &error), -EACCES);
    CHECK_EQUAL(error.code, TRIBUNE_ERROR_NOT_PERMITTED);
    CHECK(strstr(error.message, "another user (uid 65534)") != NULL);
  }
  unsetenv("TRIBUNE_ADDRESS");
  unsetenv("RUNTIME_DIRECTORY");
  close(listener);
}

/* ---- Frames ---- */

static void test_frames_can_come_byte_by_byte(void)
{
  begin();
  put_hello(&(struct hello){1, 1, 0});
  struct wire_writer writer = greeting();

  for (size_t i = 0; i < writer.length; i++) {
    uint64_t id;
    CHECK_EQUAL(tribune_get_id(bus, &id), -EAGAIN);
    put(writer.data + i, 1);
    SUCCEED(tribune_process(bus, NULL), NULL);
  }
  wire_writer_free(&writer);
  struct record record = {0};
  observe(&record);
  for (unsigned n = 1; n <= 3; n++) {
    frame_begin(&writer, WIRE_KIND_POST, 0, n);
    frame_end(&writer, "a.b", n == 1 ? NULL : "object/1", "{\"a\": 1}", n == 3 ? 0 : 8);
    for (size_t i = 0; i < writer.length; i++) {
      CHECK_EQUAL(record.counts[TRIBUNE_NOTIFICATION], n - 1);
      put(writer.data + i, 1);
      SUCCEED(tribune_process(bus, NULL), NULL);
    }
    tribune_message *message = record.messages[TRIBUNE_NOTIFICATION];
    CHECK_EQUAL(record.counts[TRIBUNE_NOTIFICATION], n);
    CHECK_TEXT(tribune_message_get_name(message), "a.b");
    CHECK_TEXT(tribune_message_get_object(message), n == 1 ? "" : "object/1");
    size_t size;
    CHECK(memcmp(tribune_message_get_user_info(message, &size), "{\"a\": 1}", n == 3 ? 0 : 8) == 0);
    CHECK_EQUAL(size, n == 3 ? 0 : 8);
    wire_writer_free(&writer);
  }
  record_end(&record);
  end();
}

static void test_half_a_frame_ends_like_none(void)
{
  for (size_t length = 1; length < 60; length += 7) {
    begin_greeted();
    uint8_t data[64] = {64, 0, 0, 0, WIRE_KIND_POST};
    put(data, length);
    shutdown(peer, SHUT_WR);
    expect_end(TRIBUNE_ERROR_CONNECTION_LOST);
    end();
  }
}

/* These frames announce lengths for which the client must not allocate memory. */
static void test_lengths_that_cannot_be_end_the_connection(void)
{
  static const struct {
    uint32_t length;
    uint32_t fields;
    bool is_possible;
  } table[] = {
      {0, 0, false},          {31, 0, false},      {32, 1, false}, {UINT32_MAX, UINT32_MAX - 32, false},
      {UINT32_MAX, 0, false}, {1u << 30, 0, true},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    begin_greeted();
    struct wire_writer header = {0};
    wire_write_u32(&header, table[i].length);
    wire_write_u32(&header, WIRE_KIND_POST);
    wire_write_u64(&header, 0);
    wire_write_u64(&header, 0);
    wire_write_u32(&header, table[i].fields);
    wire_write_u32(&header, 0);
    put(header.data, header.length);
    if (table[i].is_possible) {
      shutdown(peer, SHUT_WR);
    }
    expect_end(table[i].is_possible ? TRIBUNE_ERROR_CONNECTION_LOST : TRIBUNE_ERROR_PROTOCOL_VIOLATION);
    wire_writer_free(&header);
    end();
  }
}

static void test_fields_that_are_not_valid_end_the_connection(void)
{
  static const struct {
    uint8_t kind;
    const char *fields;
    size_t length;
  } table[] = {
      {WIRE_KIND_LOST, "\1\0\0", 3},
      {WIRE_KIND_OK, "\1", 1},
      {WIRE_KIND_ERROR, "\1", 1},
      {WIRE_KIND_POST, "\xFF\0\0\0\0\0\0\0\0\0", 10},
      {WIRE_KIND_POST, "\0\7\0\0\0\0\0\0\0\0", 10},
      {WIRE_KIND_POSTER, "", 0},
      {WIRE_KIND_POSTER, "\1\0\0\0\0\0\0\0\xFF\xFF\xFF\xFF\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 28},
      {WIRE_KIND_ENDED, "\7", 1},
      {WIRE_KIND_LATE, "\1", 1},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    begin_greeted();
    struct record record = {0};
    observe(&record);
    SUCCEED(tribune_post_acknowledged_async(bus, NULL, "a.b", NULL, NULL, 0, NULL, record_message, &record), NULL);
    put_frame(table[i].kind, 0, 2, table[i].fields, table[i].length, "a.b", NULL);
    tribune_error error = await_end(bus);
    if (error.code != TRIBUNE_ERROR_PROTOCOL_VIOLATION) {
      fail(__FILE__, __LINE__, "kind %u: %s", table[i].kind, error.message);
    }
    CHECK_EQUAL(record.counts[TRIBUNE_ENDED], 2);
    record_end(&record);
    end();
  }
}

static void test_frames_that_are_for_nobody_are_skipped(void)
{
  begin_greeted();
  struct record record = {0};
  observe(&record);
  put_frame(200, 0, 0, "abc", 3, NULL, NULL);
  put_frame(0, 0, 0, NULL, 0, NULL, NULL);
  const uint8_t kinds[] = {WIRE_KIND_OK,       WIRE_KIND_ERROR,    WIRE_KIND_VERDICT,   WIRE_KIND_AWAITED,
                           WIRE_KIND_PROGRESS, WIRE_KIND_QUESTION, WIRE_KIND_CONCLUDED, WIRE_KIND_ENTRY,
                           WIRE_KIND_TRAFFIC,  WIRE_KIND_RETAINED, WIRE_KIND_LATE};
  for (size_t i = 0; i < sizeof kinds; i++) {
    uint8_t fields[64] = {200};
    put_frame(kinds[i], 0, 999, fields, sizeof fields, NULL, NULL);
  }
  put_frame(WIRE_KIND_POST, 0, 3, NULL, 0, "a.b", "x");
  await_message(bus, &record, TRIBUNE_NOTIFICATION, 1);
  put_frame(200, WIRE_FRAME_FLAGS_CRITICAL, 0, "abc", 3, NULL, NULL);
  expect_end(TRIBUNE_ERROR_PROTOCOL_VIOLATION);
  record_end(&record);
  end();
}

/* ---- Room ---- */

static uint8_t next_frame(uint64_t *limit)
{
  uint8_t data[256];
  struct header header;
  CHECK_EQUAL(recv(peer, data, HEADER_LENGTH, MSG_WAITALL), HEADER_LENGTH);
  CHECK_EQUAL(header_decode(data, &frame_limits_of_bus, &header), 0);
  size_t length = header.length - HEADER_LENGTH;
  CHECK(length <= sizeof data);
  CHECK_EQUAL(recv(peer, data, length, MSG_WAITALL), length);
  if (header.kind == WIRE_KIND_ROOM) {
    CHECK_EQUAL(header.serial, 0);
    struct wire_reader reader = wire_reader_of(data, header.fields_length);
    struct wire_room room;
    wire_read_room(&reader, &room);
    CHECK(!reader.failed);
    *limit = room.limit;
  } else if (header.kind == WIRE_KIND_PACE) {
    struct wire_reader reader = wire_reader_of(data, header.fields_length);
    struct wire_pace pace;
    wire_read_pace(&reader, &pace);
    CHECK(!reader.failed);
    *limit = pace.limit;
  }
  return header.kind;
}

static uint64_t next_limit(void)
{
  uint64_t limit = 0;
  CHECK_EQUAL(next_frame(&limit), WIRE_KIND_ROOM);
  return limit;
}

static bool has_sent(void)
{
  uint8_t byte;
  return recv(peer, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Sends all posts in one piece, because each piece takes more space in the socket's buffer than its length. */
static void put_posts(unsigned count)
{
  struct wire_writer posts = {0};
  for (unsigned i = 0; i < count; i++) {
    struct wire_writer post = {0};
    frame_begin(&post, WIRE_KIND_POST, 0, 0);
    frame_end(&post, "a.b", NULL, NULL, 0);
    wire_write(&posts, post.data, post.length);
    wire_writer_free(&post);
  }
  put(posts.data, posts.length);
  wire_writer_free(&posts);
}

static void test_the_bus_gets_room_before_the_first_observation(void)
{
  begin_greeted();
  struct record record = {0};
  observe(&record);
  CHECK_EQUAL(next_limit(), ROOM);
  CHECK_EQUAL(next_frame(NULL), WIRE_KIND_OBSERVE);
  SUCCEED(tribune_observe(bus, NULL, "b.*", NULL, 0, record_message, &record), NULL);
  CHECK_EQUAL(next_frame(NULL), WIRE_KIND_OBSERVE);
  record_end(&record);
  end();
}

static void test_a_pace_is_sent_in_milliseconds(void)
{
  static const struct {
    uint64_t usec;
    uint64_t limit;
  } paces[] = {{0, 0}, {1, 1}, {250000, 250}, {65534000, 65534}, {UINT64_MAX, 65535}};
  begin_greeted();
  for (size_t i = 0; i < sizeof paces / sizeof *paces; i++) {
    uint64_t limit = 1234;
    CHECK_EQUAL(tribune_set_pace(bus, paces[i].usec), 0);
    CHECK_EQUAL(next_frame(&limit), WIRE_KIND_PACE);
    CHECK_EQUAL(limit, paces[i].limit);
  }
  CHECK_EQUAL(tribune_set_pace(bus, 65534001), -EINVAL);
  CHECK(!has_sent());
  end();
}

static void test_room_grows_as_the_program_handles_notifications(void)
{
  begin_greeted();
  struct record record = {0};
  observe(&record);
  CHECK_EQUAL(next_limit(), ROOM);
  CHECK_EQUAL(next_frame(NULL), WIRE_KIND_OBSERVE);
  put_posts(ROOM / 2 - 1);
  await_message(bus, &record, TRIBUNE_NOTIFICATION, ROOM / 2 - 1);
  CHECK(!has_sent());
  put_posts(1);
  await_message(bus, &record, TRIBUNE_NOTIFICATION, ROOM / 2);
  CHECK_EQUAL(next_limit(), ROOM / 2 + ROOM);
  put_frame(WIRE_KIND_LOST, 0, 0, "\0\4\0\0\0\0\0\0", 8, NULL, NULL);
  await_message(bus, &record, TRIBUNE_LOST, 1);
  CHECK_EQUAL(next_limit(), ROOM / 2 + 1024 + ROOM);
  put_frame(WIRE_KIND_ROOM, 0, 0, "\0\0\0\0\0\0\0\0", 8, NULL, NULL);
  CHECK_EQUAL(tribune_process(bus, NULL), 1);
  CHECK_EQUAL(next_limit(), ROOM / 2 + 1024 + ROOM);
  record_end(&record);
  end();
}

static void test_a_connection_without_observations_gives_no_room(void)
{
  begin_greeted();
  put_frame(WIRE_KIND_ROOM, 0, 0, "\0\0\0\0\0\0\0\0", 8, NULL, NULL);
  CHECK_EQUAL(tribune_process(bus, NULL), 1);
  CHECK(!has_sent());
  end();
}

/* Lets the bus send posts while the program waits for a reply. */
static void wait_during(unsigned posts, struct record *record)
{
  static char text[20001];
  memset(text, 'x', sizeof text - 1);
  begin_greeted();
  observe(record);
  if (fork_child() == 0) {
    for (unsigned i = 0; i < posts; i++) {
      put_frame(WIRE_KIND_POST, 0, 0, NULL, 0, "a.willB", text);
    }
    put_frame(WIRE_KIND_ERROR, 0, 2, "\x47\0", 2, NULL, NULL);
    _exit(0);
  }
  tribune_error error;
  SUCCEED(tribune_flush(bus, UINT64_MAX, &error), &error);
  CHECK_EQUAL(record->counts[TRIBUNE_NOTIFICATION], 0);
  CHECK_EQUAL(tribune_process(bus, &error), 1);
}

static void test_a_function_that_waits_keeps_what_there_is_room_for(void)
{
  struct record record = {0};
  wait_during(ROOM, &record);
  CHECK_EQUAL(record.counts[TRIBUNE_NOTIFICATION], ROOM);
  CHECK_EQUAL(record.lost, 0);
  record_end(&record);
  end();
}

static void test_what_needs_no_room_is_counted_if_it_is_dropped(void)
{
  struct record record = {0};
  wait_during(2 * ROOM, &record);
  CHECK(record.counts[TRIBUNE_NOTIFICATION] >= ROOM);
  CHECK(record.lost > 0);
  CHECK_EQUAL(record.counts[TRIBUNE_NOTIFICATION] + record.lost, 2 * ROOM);
  CHECK_EQUAL(bus->limit, 3 * ROOM);
  record_end(&record);
  end();
}

static void test_a_code_that_is_not_known_is_a_refusal(void)
{
  begin_greeted();
  struct record record = {0};
  SUCCEED(tribune_observe(bus, NULL, "a.*", NULL, 0, record_message, &record), NULL);
  put_frame(WIRE_KIND_ERROR, 0, 1, "\xE8\3", 2, NULL, "not\x1b[31m today\xff");
  const tribune_error *error = tribune_message_get_error(await_message(bus, &record, TRIBUNE_ENDED, 1));
  CHECK_EQUAL(error->code, 1000);
  CHECK_EQUAL(error->number, -EREMOTEIO);
  CHECK_TEXT(error->message, "not?[31m today?");
  record_end(&record);
  end();
}

static void test_a_refused_hold_without_slot_and_callback_ends_the_connection(void)
{
  begin_greeted();
  SUCCEED(tribune_hold(bus, NULL, "a.*", NULL, "why", NULL, NULL, NULL), NULL);
  put_frame(WIRE_KIND_ERROR, 0, 1, "\x4C", 2, NULL, "the policy has no lines");
  expect_end(TRIBUNE_ERROR_NOT_PERMITTED);
  end();
}

static void put_late(uint32_t actions)
{
  struct wire_writer fields = {0};
  wire_write_late(&fields, &(struct wire_late){.delegate = 1, .actions = actions});
  put_frame(WIRE_KIND_LATE, 0, 1, fields.data, fields.length, NULL, NULL);
  wire_writer_free(&fields);
}

static void test_a_hold_is_as_late_as_the_last_frame_says(void)
{
  begin_greeted();
  struct record record = {0};
  tribune_slot *hold;
  tribune_error error;
  SUCCEED(tribune_hold(bus, &hold, "a.*", NULL, "why", NULL, record_message, &record), NULL);
  struct wire_writer fields = {0};
  wire_write_okay(&fields, &(struct wire_okay){.registration = 1, .delegate = 1, .late = 2});
  put_frame(WIRE_KIND_OK, 0, 1, fields.data, fields.length, NULL, NULL);
  wire_writer_free(&fields);
  SUCCEED(tribune_slot_wait(hold, UINT64_MAX, &error), &error);
  CHECK_EQUAL(tribune_hold_get_late(hold), 2);
  put_late(0);
  put_late(1);
  CHECK_EQUAL(tribune_hold_wait(hold, 20000, &error), -ETIMEDOUT);
  CHECK_EQUAL(tribune_hold_get_late(hold), 1);
  put_late(0);
  SUCCEED(tribune_hold_wait(hold, UINT64_MAX, &error), &error);
  CHECK_EQUAL(record.counts[TRIBUNE_LATE], 0);
  await_message(bus, &record, TRIBUNE_LATE, 3);
  put_late(1);
  shutdown(peer, SHUT_WR);
  CHECK_EQUAL(tribune_hold_wait(hold, UINT64_MAX, &error), -ENOTCONN);
  tribune_slot_unref(hold);
  record_end(&record);
  end();
}

static void test_garbage_is_survived(void)
{
  srandom(1);
  for (unsigned i = 0; i < 300; i++) {
    begin_greeted();
    struct record record = {0};
    observe(&record);
    uint8_t data[512];
    size_t length = (size_t)random() % sizeof data + 1;
    for (size_t j = 0; j < length; j++) {
      data[j] = (uint8_t)random();
    }
    /* These frames have valid lengths and random contents. */
    for (unsigned kind = 1; kind <= WIRE_KIND_LATE && i % 2 == 0; kind++) {
      put_frame((uint8_t)kind, 0, (uint64_t)random() % 3, data, (size_t)random() % length, "a.b", NULL);
    }
    if (i % 2 == 1) {
      put(data, length);
    }
    shutdown(peer, SHUT_WR);
    tribune_error error = await_end(bus);
    CHECK(error.code == TRIBUNE_ERROR_PROTOCOL_VIOLATION || error.code == TRIBUNE_ERROR_CONNECTION_LOST
          || error.code < 64);
    record_end(&record);
    end();
  }
}

static const struct test tests[] = {
    {"what does not greet is no bus", test_what_does_not_greet_is_no_bus},
    {"the first frame is a welcome or a refusal", test_the_first_frame_is_a_welcome_or_a_refusal},
    {"a listener that is silent is not waited for", test_a_listener_that_is_silent_is_not_waited_for},
    {"a welcome that does not come ends the connection", test_a_welcome_that_does_not_come_ends_the_connection},
    {"a full backlog is waited for", test_a_full_backlog_is_waited_for},
    {"a failure of this process does not mean that there is no bus",
     test_a_failure_of_this_process_does_not_mean_that_there_is_no_bus},
    {"addresses are found", test_addresses_are_found},
    {"a bus of another user is not believed", test_a_bus_of_another_user_is_not_believed},
    {"frames can come byte by byte", test_frames_can_come_byte_by_byte},
    {"half a frame ends like none", test_half_a_frame_ends_like_none},
    {"lengths that cannot be end the connection", test_lengths_that_cannot_be_end_the_connection},
    {"fields that are not valid end the connection", test_fields_that_are_not_valid_end_the_connection},
    {"frames that are for nobody are skipped", test_frames_that_are_for_nobody_are_skipped},
    {"the bus gets room before the first observation", test_the_bus_gets_room_before_the_first_observation},
    {"a pace is sent in milliseconds", test_a_pace_is_sent_in_milliseconds},
    {"room grows as the program handles notifications", test_room_grows_as_the_program_handles_notifications},
    {"a connection without observations gives no room", test_a_connection_without_observations_gives_no_room},
    {"a function that waits keeps what there is room for", test_a_function_that_waits_keeps_what_there_is_room_for},
    {"what needs no room is counted if it is dropped", test_what_needs_no_room_is_counted_if_it_is_dropped},
    {"a code that is not known is a refusal", test_a_code_that_is_not_known_is_a_refusal},
    {"a refused hold without slot and callback ends the connection",
     test_a_refused_hold_without_slot_and_callback_ends_the_connection},
    {"a hold is as late as the last frame says", test_a_hold_is_as_late_as_the_last_frame_says},
    {"garbage is survived", test_garbage_is_survived},
};

int main(int argc, char **argv)
{
  return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
