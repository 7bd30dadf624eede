/* SPDX-License-Identifier: Apache-2.0 */

/* Peers that are no bus, or a broken one; and what becomes of a connection when this process lacks something. */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "../src/frame.h"
#include "daemon.h"
#include "harness.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

/* A bus that sends whatever a test wants, and a client of it. */
static int peer;
static tribune *bus;
static char address[128];

static int listen_at(const char *path)
{
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  strcpy(name.sun_path, path);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(listener >= 0);
  CHECK_EQUAL(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
  CHECK_EQUAL(listen(listener, 1), 0);
  return listener;
}

/* Connects, and sends nothing yet. */
static void begin(void)
{
  char path[100];
  snprintf(path, sizeof path, "%s/bus", test_folder);
  snprintf(address, sizeof address, "unix:%s", path);
  unlink(path);
  int listener = listen_at(path);
  SUCCEED(tribune_open(&bus, address, 0, 0, NULL), NULL);
  peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  CHECK(peer >= 0);
  uint8_t hello[HELLO_LENGTH];
  CHECK_EQUAL(recv(peer, hello, sizeof hello, MSG_WAITALL), sizeof hello);
  close(listener);
}

static void end(void)
{
  tribune_unref(bus);
  close(peer);
}

static void put(const void *data, size_t length)
{
  CHECK_EQUAL(send(peer, data, length, MSG_NOSIGNAL), length);
}

static void put_hello(const struct hello *hello)
{
  uint8_t data[HELLO_LENGTH];
  hello_encode(data, hello);
  put(data, sizeof data);
}

/* The welcome, after a hello. The caller frees it. */
static struct wire_writer greeting(void)
{
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_WELCOME, 0, 0);
  wire_write_welcome(&writer, &(struct wire_welcome){
                                .connection = 7, .payload_max = 1 << 24, .deadline_max = 60000, .deadline_default = 30000,
                                .software = wire_text_of("made up")});
  frame_end(&writer, NULL, NULL, NULL, 0);
  return writer;
}

static void greet(void)
{
  put_hello(&(struct hello){1, 1, ACCEPTS_DESCRIPTORS});
  struct wire_writer writer = greeting();
  put(writer.data, writer.length);
  wire_writer_free(&writer);
  uint64_t id;
  while (tribune_get_id(bus, &id) == -EAGAIN) {
    SUCCEED(tribune_process(bus, NULL), NULL);
  }
}

static void put_frame(uint8_t kind, uint8_t flags, uint64_t serial, const void *fields, size_t fields_length,
                      const char *name, const char *payload)
{
  struct wire_writer writer = {0};
  frame_begin(&writer, kind, flags, serial);
  wire_write(&writer, fields, fields_length);
  frame_end(&writer, name, NULL, payload, payload == NULL ? 0 : strlen(payload));
  put(writer.data, writer.length);
  wire_writer_free(&writer);
}

/* A post whose userInfo is in a descriptor, -1 for none that comes with it. */
static void put_file(uint8_t kind, uint32_t length, int fd)
{
  struct wire_writer writer = {0};
  frame_begin(&writer, kind, WIRE_FRAME_FLAGS_DESCRIPTOR, 9);
  if (kind == WIRE_KIND_POST) {
    wire_write_post(&writer, &(struct wire_post){.length = length});
  } else {
    wire_write_lost(&writer, &(struct wire_lost){.count = 1});
  }
  frame_end(&writer, "a.b", NULL, NULL, 0);
  struct iovec part = {writer.data, writer.length};
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
  } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
  memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (fd >= 0) {
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
  }
  CHECK_EQUAL(sendmsg(peer, &message, MSG_NOSIGNAL), writer.length);
  wire_writer_free(&writer);
  if (fd >= 0) {
    close(fd);
  }
}

static int file_of(size_t length, int seals)
{
  int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  CHECK(fd >= 0);
  CHECK_EQUAL(ftruncate(fd, (off_t)length), 0);
  CHECK_EQUAL(fcntl(fd, F_ADD_SEALS, seals), 0);
  return fd;
}

static void observe(struct record *record)
{
  SUCCEED(tribune_observe(bus, NULL, "a.*", NULL, 0, record_message, record), NULL);
  struct wire_writer fields = {0};
  wire_write_okay(&fields, &(struct wire_okay){.registration = 1});
  put_frame(WIRE_KIND_OK, 0, 1, fields.data, fields.length, NULL, NULL);
  wire_writer_free(&fields);
  await_message(bus, record, TRIBUNE_READY, 1);
}

static void expect_end(int code)
{
  tribune_error error = await_end(bus);
  if (error.code != code) {
    fail(__FILE__, __LINE__, "ended with %d, not %d: %s", error.code, code, error.message);
  }
  CHECK_EQUAL(tribune_process(bus, NULL), -ENOTCONN);
}

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
  CHECK_EQUAL(tribune_open(&bus, address, 0, 20000, &error), -EAGAIN);
  tribune_unref(others[0]);
  tribune_unref(others[1]);
  close(listener);
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
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_UNREACHABLE);
  CHECK(strstr(error.message, path) != NULL);
  unsetenv("TRIBUNE_ADDRESS");
  /* The folders of the environment are tried in their order, if the socket is there. */
  snprintf(path, sizeof path, "%s/tribune", test_folder);
  CHECK_EQUAL(mkdir(path, 0700), 0);
  snprintf(path, sizeof path, "%s/tribune/bus", test_folder);
  int listener = listen_at(path);
  setenv("XDG_RUNTIME_DIR", test_folder, 1);
  SUCCEED(tribune_open(&bus, NULL, 0, 0, &error), &error);
  tribune_unref(bus);
  close(listener);
  CHECK_EQUAL(tribune_open(&bus, NULL, 0, 0, &error), -ECONNREFUSED);
  CHECK(strstr(error.message, path) != NULL);
  snprintf(path, sizeof path, "/proc:%s/tribune", test_folder);
  setenv("RUNTIME_DIRECTORY", path, 1);
  CHECK_EQUAL(tribune_open(&bus, NULL, 0, 0, &error), -ECONNREFUSED);
  if (geteuid() == 0) {
    /* A folder of another user is not believed. */
    CHECK_EQUAL(chown(test_folder, 1, 1), 0);
    unsetenv("RUNTIME_DIRECTORY");
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
  snprintf(path, sizeof path, "%s/tribune", test_folder);
  CHECK_EQUAL(mkdir(path, 0700), 0);
  snprintf(path, sizeof path, "%s/tribune/bus", test_folder);
  /* The kernel notes who listens. */
  CHECK_EQUAL(chown(test_folder, 65534, 65534), 0);
  CHECK_EQUAL(seteuid(1), 0);
  CHECK_EQUAL(seteuid(0), 0);
  int listener = listen_at(path);
  CHECK_EQUAL(seteuid(65534), 0);
  CHECK_EQUAL(listen(listener, 1), 0);
  CHECK_EQUAL(seteuid(0), 0);
  CHECK_EQUAL(chown(test_folder, 0, 0), 0);
  unsetenv("TRIBUNE_ADDRESS");
  unsetenv("RUNTIME_DIRECTORY");
  setenv("XDG_RUNTIME_DIR", test_folder, 1);
  tribune_error error;
  CHECK_EQUAL(tribune_open(&bus, NULL, 0, 0, &error), -EACCES);
  CHECK(strstr(error.message, "another user (uid 65534)") != NULL);
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
    begin();
    greet();
    uint8_t data[64] = {64, 0, 0, 0, WIRE_KIND_POST};
    put(data, length);
    shutdown(peer, SHUT_WR);
    expect_end(TRIBUNE_ERROR_CONNECTION_LOST);
    end();
  }
}

/* No memory is taken for what is announced, so this needs none. */
static void test_lengths_that_cannot_be_end_the_connection(void)
{
  static const struct {
    uint32_t length;
    uint32_t fields;
    bool is_possible;
  } table[] = {
    {0, 0, false}, {31, 0, false}, {32, 1, false}, {UINT32_MAX, UINT32_MAX - 32, false}, {UINT32_MAX, 0, false},
    {1u << 30, 0, true},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    begin();
    greet();
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
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    begin();
    greet();
    struct record record = {0};
    observe(&record);
    /* To a request that waits, where a reply has to be for one. */
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
  begin();
  greet();
  struct record record = {0};
  observe(&record);
  put_frame(200, 0, 0, "abc", 3, NULL, NULL);
  put_frame(0, 0, 0, NULL, 0, NULL, NULL);
  const uint8_t kinds[] = {WIRE_KIND_OK,       WIRE_KIND_ERROR,     WIRE_KIND_VERDICT, WIRE_KIND_AWAITED,
                           WIRE_KIND_PROGRESS, WIRE_KIND_QUESTION,  WIRE_KIND_CONCLUDED, WIRE_KIND_ENTRY,
                           WIRE_KIND_TRAFFIC,  WIRE_KIND_RETAINED};
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

static void test_a_code_that_is_not_known_is_a_refusal(void)
{
  begin();
  greet();
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

static void test_garbage_is_survived(void)
{
  srandom(1);
  for (unsigned i = 0; i < 300; i++) {
    begin();
    greet();
    struct record record = {0};
    observe(&record);
    uint8_t data[512];
    size_t length = (size_t)random() % sizeof data + 1;
    for (size_t j = 0; j < length; j++) {
      data[j] = (uint8_t)random();
    }
    /* Frames of each kind whose lengths are right, and else garbage. */
    for (unsigned kind = 1; kind < 30 && i % 2 == 0; kind++) {
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

/* ---- Descriptors ---- */

static void test_a_file_that_is_not_as_announced_ends_the_connection(void)
{
  const struct {
    uint8_t kind;
    uint32_t announced;
    size_t length;
    int seals;
    bool is_sent;
  } table[] = {
    {WIRE_KIND_POST, 65536, 65536, SEALS & ~F_SEAL_WRITE, true}, {WIRE_KIND_POST, 65536, 65537, SEALS, true},
    {WIRE_KIND_POST, 65535, 65535, SEALS, true},                 {WIRE_KIND_POST, 65536, 65536, SEALS, false},
    {WIRE_KIND_LOST, 65536, 65536, SEALS, true},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    begin();
    greet();
    put_file(table[i].kind, table[i].announced, table[i].is_sent ? file_of(table[i].length, table[i].seals) : -1);
    expect_end(TRIBUNE_ERROR_PROTOCOL_VIOLATION);
    end();
  }
  begin();
  greet();
  put_file(WIRE_KIND_POST, 65536, open("/dev/null", O_RDONLY | O_CLOEXEC));
  expect_end(TRIBUNE_ERROR_PROTOCOL_VIOLATION);
  end();
}

/* Sends one byte with as many descriptors. */
static void put_descriptors(uint8_t byte, size_t count)
{
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(32 * sizeof(int))];
  } control = {.header = {.cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
  for (size_t i = 0; i < count; i++) {
    memcpy(CMSG_DATA(&control.header) + i * sizeof peer, &peer, sizeof peer);
  }
  struct iovec part = {&byte, 1};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
                           .msg_controllen = CMSG_SPACE(count * sizeof(int))};
  CHECK_EQUAL(sendmsg(peer, &message, MSG_NOSIGNAL), 1);
}

static int open_descriptors(void)
{
  int count = 0;
  for (int fd = 0; fd < 256; fd++) {
    count += fcntl(fd, F_GETFD) >= 0;
  }
  return count;
}

static void test_descriptors_that_belong_to_no_frame_end_the_connection(void)
{
  int before = open_descriptors();
  /* Behind a whole frame, as the first byte of one and more than may be, and with its rest. */
  for (unsigned i = 0; i < 3; i++) {
    begin();
    greet();
    if (i == 0) {
      uint8_t data[31] = {32, 0, 0, 0, 200};
      put(data, sizeof data);
      put_descriptors(0, 1);
    } else {
      put_descriptors(64, i == 1 ? 17 : 16);
      if (i == 2) {
        put_descriptors(0, 1);
      }
    }
    expect_end(TRIBUNE_ERROR_PROTOCOL_VIOLATION);
    end();
  }
  CHECK_EQUAL(open_descriptors(), before);
}

static void test_a_file_that_cannot_be_received_is_lost(void)
{
  if (getenv("TRIBUNE_UNDER_VALGRIND") != NULL) {
    printf("test-peers: valgrind keeps limits on descriptors from the kernel\n");
    return;
  }
  begin();
  greet();
  struct record record = {0};
  observe(&record);
  int file = file_of(65536, SEALS);
  struct rlimit limit;
  CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
  put_file(WIRE_KIND_POST, 65536, file);
  /* Every descriptor below is taken: the kernel cuts the control data off. */
  rlim_t before = limit.rlim_cur;
  limit.rlim_cur = 0;
  CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
  while (record.lost == 0) {
    SUCCEED(tribune_process(bus, NULL), NULL);
  }
  limit.rlim_cur = before;
  CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
  CHECK_EQUAL(record.lost, 1);
  CHECK_EQUAL(record.counts[TRIBUNE_NOTIFICATION], 0);
  /* The next one arrives. */
  put_file(WIRE_KIND_POST, 65536, file_of(65536, SEALS));
  await_message(bus, &record, TRIBUNE_NOTIFICATION, 1);
  record_end(&record);
  end();
}

/* Descriptors that a program that is executed would inherit. */
static int inheritable_descriptors(void)
{
  int count = 0;
  for (int fd = 0; fd < 256; fd++) {
    int flags = fcntl(fd, F_GETFD);
    count += flags >= 0 && (flags & FD_CLOEXEC) == 0;
  }
  return count;
}

static void test_descriptors_are_closed_on_exec(void)
{
  int inheritable = inheritable_descriptors();
  begin();
  greet();
  CHECK((fcntl(tribune_get_fd(bus), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((fcntl(tribune_get_fd(bus), F_GETFL) & O_NONBLOCK) != 0);
  /* A whole frame without its last byte, so that the descriptor waits. */
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_POST, 0, 1);
  frame_end(&writer, "a.b", NULL, NULL, 0);
  put_descriptors(writer.data[0], 1);
  put(writer.data + 1, writer.length - 2);
  wire_writer_free(&writer);
  int before = open_descriptors();
  SUCCEED(tribune_process(bus, NULL), NULL);
  CHECK_EQUAL(open_descriptors(), before + 1);
  CHECK_EQUAL(inheritable_descriptors(), inheritable);
  end();
}

/* ---- Writing ---- */

static void test_a_bus_that_does_not_read_costs_bounded_memory(void)
{
  begin();
  greet();
  CHECK_EQUAL(tribune_get_events(bus), POLLIN);
  char data[60000];
  memset(data, 'x', sizeof data);
  size_t sent = 0;
  int result;
  while ((result = tribune_post(bus, "a.b", NULL, data, sizeof data, NULL)) == 0) {
    CHECK(++sent < 1000);
  }
  CHECK_EQUAL(result, -ENOBUFS);
  CHECK_EQUAL(tribune_get_events(bus), POLLIN | POLLOUT);
  tribune_error error;
  CHECK_EQUAL(tribune_post_acknowledged(bus, "a.b", NULL, NULL, 0, NULL, &error), -ENOBUFS);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_QUEUE_FULL);
  CHECK_EQUAL(tribune_wait(bus, 10000), 0);
  /* Once it reads, all arrives, in order and whole. */
  size_t frame = HEADER_LENGTH + 3 + sizeof data;
  size_t left = sent * frame;
  while (left > 0) {
    char received[65536];
    ssize_t count = recv(peer, received, sizeof received, MSG_DONTWAIT);
    if (count > 0) {
      left -= (size_t)count;
    } else {
      CHECK_EQUAL(errno, EAGAIN);
      SUCCEED(tribune_process(bus, NULL), NULL);
    }
  }
  CHECK_EQUAL(tribune_get_events(bus), POLLIN);
  SUCCEED(tribune_post(bus, "a.b", NULL, NULL, 0, NULL), NULL);
  end();
}

/* Receives all that waits, with its files, and closes these. */
static void receive_everything(void)
{
  char data[4096];
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(32 * sizeof(int))];
  } control;
  struct iovec part = {data, sizeof data};
  for (;;) {
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (recvmsg(peer, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0) {
      return;
    }
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (header != NULL) {
      int fd;
      memcpy(&fd, CMSG_DATA(header), sizeof fd);
      close(fd);
    }
  }
}

static uint64_t timeout_of(tribune *one)
{
  uint64_t usec;
  SUCCEED(tribune_get_timeout(one, &usec), NULL);
  return usec;
}

static void test_a_bus_that_does_not_receive_files_costs_bounded_memory(void)
{
  begin();
  greet();
  size_t size = (size_t)1 << 24;
  char *data = calloc(1, size);
  CHECK(data != NULL);
  for (unsigned i = 0; i < 4; i++) {
    SUCCEED(tribune_post(bus, "a.b", NULL, data, size, NULL), NULL);
    CHECK_EQUAL(timeout_of(bus), -1);
  }
  /* The next one waits until the bus has received the others, which no descriptor tells. */
  SUCCEED(tribune_post(bus, "a.b", NULL, data, size, NULL), NULL);
  CHECK(timeout_of(bus) != UINT64_MAX);
  CHECK_EQUAL(tribune_get_events(bus), POLLIN);
  CHECK_EQUAL(tribune_post(bus, "a.b", NULL, NULL, 0, NULL), -ENOBUFS);
  receive_everything();
  while (timeout_of(bus) != UINT64_MAX) {
    CHECK_EQUAL(tribune_wait(bus, UINT64_MAX), 1);
    SUCCEED(tribune_process(bus, NULL), NULL);
  }
  receive_everything();
  free(data);
  end();
}

static void test_more_files_than_the_kernel_lets_pass_wait(void)
{
  if (getenv("TRIBUNE_UNDER_VALGRIND") != NULL) {
    printf("test-peers: valgrind keeps limits on descriptors from the kernel\n");
    return;
  }
  begin();
  greet();
  /* The limit is that of users without privileges. */
  CHECK(geteuid() != 0 || seteuid(65534) == 0);
  struct rlimit limit;
  CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 256;
  CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
  char *data = calloc(1, 65536);
  CHECK(data != NULL);
  unsigned sent = 0;
  while (timeout_of(bus) == UINT64_MAX) {
    SUCCEED(tribune_post(bus, "a.b", NULL, data, 65536, NULL), NULL);
    CHECK(++sent < 1000);
  }
  while (timeout_of(bus) != UINT64_MAX) {
    receive_everything();
    SUCCEED(tribune_wait(bus, UINT64_MAX), NULL);
    SUCCEED(tribune_process(bus, NULL), NULL);
  }
  free(data);
  end();
}

static void test_user_info_goes_into_the_frame_without_a_file(void)
{
  if (getenv("TRIBUNE_UNDER_VALGRIND") != NULL) {
    printf("test-peers: valgrind keeps limits on descriptors from the kernel\n");
    return;
  }
  begin();
  greet();
  char *data = calloc(1, 65536);
  CHECK(data != NULL);
  struct rlimit limit;
  CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = 0;
  CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
  SUCCEED(tribune_post(bus, "a.b", NULL, data, 65536, NULL), NULL);
  uint8_t header[HEADER_LENGTH];
  CHECK_EQUAL(recv(peer, header, sizeof header, MSG_WAITALL), sizeof header);
  struct header decoded;
  CHECK_EQUAL(header_decode(header, &frame_limits_of_bus, &decoded), 0);
  CHECK_EQUAL(header_payload_length(&decoded), 65536);
  CHECK_EQUAL(decoded.flags, 0);
  free(data);
  end();
}

static void test_a_reply_that_is_not_valid_ends_the_connection(void)
{
  begin();
  greet();
  put_frame(WIRE_KIND_VERDICT, 0, 1, "abc", 3, NULL, NULL);
  tribune_error error;
  CHECK_EQUAL(tribune_ask(bus, "a.shouldB", NULL, NULL, 0, NULL, NULL, &error), -EPROTO);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_PROTOCOL_VIOLATION);
  expect_end(TRIBUNE_ERROR_PROTOCOL_VIOLATION);
  end();
}

static void test_a_bus_that_has_gone_is_no_signal(void)
{
  begin();
  greet();
  struct record record = {0};
  SUCCEED(tribune_observe(bus, NULL, "a.*", NULL, 0, record_message, &record), NULL);
  put_frame(WIRE_KIND_ERROR, 0, 0, "\x09\0", 2, NULL, "too slow");
  close(peer);
  /* What it said last is heard, though nothing can be written. */
  for (unsigned i = 0; i < 3; i++) {
    SUCCEED(tribune_post(bus, "a.b", NULL, NULL, 0, NULL), NULL);
  }
  tribune_error error = await_end(bus);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_TOO_SLOW);
  CHECK_EQUAL(tribune_message_get_error(record.messages[TRIBUNE_ENDED])->code, TRIBUNE_ERROR_TOO_SLOW);
  record_end(&record);
  end();
}

static void test_a_bus_that_is_silent_is_not_waited_for_without_end(void)
{
  begin();
  greet();
  tribune_error error;
  CHECK_EQUAL(tribune_flush(bus, 20000, &error), -ETIMEDOUT);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_TIMED_OUT);
  tribune_slot *slot;
  SUCCEED(tribune_hold(bus, &slot, "a.b", NULL, "why", NULL, NULL, NULL), NULL);
  CHECK_EQUAL(tribune_slot_wait(slot, 20000, &error), -ETIMEDOUT);
  CHECK_EQUAL(tribune_slot_is_in_force(slot), 0);
  tribune_slot_unref(slot);
  end();
}

static volatile sig_atomic_t signals;

static void note_signal(int number)
{
  (void)number;
  signals++;
}

static void test_signals_do_not_disturb(void)
{
  begin();
  greet();
  struct sigaction action = {.sa_handler = note_signal};
  CHECK_EQUAL(sigaction(SIGALRM, &action, NULL), 0);
  struct itimerval timer = {{0, 2000}, {0, 2000}};
  CHECK_EQUAL(setitimer(ITIMER_REAL, &timer, NULL), 0);
  tribune_error error;
  CHECK_EQUAL(tribune_flush(bus, 50000, &error), -ETIMEDOUT);
  CHECK(signals > 0);
  CHECK_EQUAL(tribune_wait(bus, UINT64_MAX), -EINTR);
  timer = (struct itimerval){0};
  setitimer(ITIMER_REAL, &timer, NULL);
  end();
}

static const struct test tests[] = {
  {"what does not greet is no bus", test_what_does_not_greet_is_no_bus},
  {"the first frame is a welcome or a refusal", test_the_first_frame_is_a_welcome_or_a_refusal},
  {"a listener that is silent is not waited for", test_a_listener_that_is_silent_is_not_waited_for},
  {"a full backlog is waited for", test_a_full_backlog_is_waited_for},
  {"addresses are found", test_addresses_are_found},
  {"a bus of another user is not believed", test_a_bus_of_another_user_is_not_believed},
  {"frames can come byte by byte", test_frames_can_come_byte_by_byte},
  {"half a frame ends like none", test_half_a_frame_ends_like_none},
  {"lengths that cannot be end the connection", test_lengths_that_cannot_be_end_the_connection},
  {"fields that are not valid end the connection", test_fields_that_are_not_valid_end_the_connection},
  {"frames that are for nobody are skipped", test_frames_that_are_for_nobody_are_skipped},
  {"a code that is not known is a refusal", test_a_code_that_is_not_known_is_a_refusal},
  {"garbage is survived", test_garbage_is_survived},
  {"a file that is not as announced ends the connection", test_a_file_that_is_not_as_announced_ends_the_connection},
  {"descriptors that belong to no frame end the connection",
   test_descriptors_that_belong_to_no_frame_end_the_connection},
  {"a file that cannot be received is lost", test_a_file_that_cannot_be_received_is_lost},
  {"descriptors are closed on exec", test_descriptors_are_closed_on_exec},
  {"a bus that does not read costs bounded memory", test_a_bus_that_does_not_read_costs_bounded_memory},
  {"a bus that does not receive files costs bounded memory",
   test_a_bus_that_does_not_receive_files_costs_bounded_memory},
  {"more files than the kernel lets pass wait", test_more_files_than_the_kernel_lets_pass_wait},
  {"userInfo goes into the frame without a file", test_user_info_goes_into_the_frame_without_a_file},
  {"a reply that is not valid ends the connection", test_a_reply_that_is_not_valid_ends_the_connection},
  {"a bus that has gone is no signal", test_a_bus_that_has_gone_is_no_signal},
  {"a bus that is silent is not waited for without end", test_a_bus_that_is_silent_is_not_waited_for_without_end},
  {"signals do not disturb", test_signals_do_not_disturb},
};

int main(int argc, char **argv)
{
  return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
