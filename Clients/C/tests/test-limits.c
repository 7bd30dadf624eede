/* SPDX-License-Identifier: Apache-2.0 */

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
#include <sys/time.h>
#include <unistd.h>

#include "harness.h"
#include "peer.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

/* ---- Descriptors ---- */

/* Sends a notification with a descriptor. -1 omits the descriptor. */
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

static void test_a_file_that_is_not_as_announced_ends_the_connection(void)
{
  const struct {
    uint8_t kind;
    uint32_t announced;
    size_t length;
    int seals;
    bool is_sent;
  } table[] = {
      {WIRE_KIND_POST, 65536, 65536, SEALS & ~F_SEAL_WRITE, true},
      {WIRE_KIND_POST, 65536, 65537, SEALS, true},
      {WIRE_KIND_POST, 65535, 65535, SEALS, true},
      {WIRE_KIND_POST, 65536, 65536, SEALS, false},
      {WIRE_KIND_LOST, 65536, 65536, SEALS, true},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    begin_greeted();
    put_file(table[i].kind, table[i].announced, table[i].is_sent ? file_of(table[i].length, table[i].seals) : -1);
    expect_end(TRIBUNE_ERROR_PROTOCOL_VIOLATION);
    end();
  }
  begin_greeted();
  put_file(WIRE_KIND_POST, 65536, open("/dev/null", O_RDONLY | O_CLOEXEC));
  expect_end(TRIBUNE_ERROR_PROTOCOL_VIOLATION);
  end();
}

static void put_descriptors(uint8_t byte, size_t count)
{
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(32 * sizeof(int))];
  } control = {
      .header = {.cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
  for (size_t i = 0; i < count; i++) {
    memcpy(CMSG_DATA(&control.header) + i * sizeof peer, &peer, sizeof peer);
  }
  struct iovec part = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(count * sizeof(int))};
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
  /* Descriptors in the wrong place: after a whole frame, too many with a first byte, and with the rest of a frame. */
  for (unsigned i = 0; i < 3; i++) {
    begin_greeted();
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
    printf("test-limits: valgrind keeps limits on descriptors from the kernel\n");
    return;
  }
  begin_greeted();
  struct record record = {0};
  observe(&record);
  int file = file_of(65536, SEALS);
  struct rlimit limit;
  CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
  put_file(WIRE_KIND_POST, 65536, file);
  /* All descriptors below the limit are in use, so the kernel truncates the control data. */
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
  put_file(WIRE_KIND_POST, 65536, file_of(65536, SEALS));
  await_message(bus, &record, TRIBUNE_NOTIFICATION, 1);
  record_end(&record);
  end();
}

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
  begin_greeted();
  CHECK((fcntl(tribune_get_fd(bus), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((fcntl(tribune_get_fd(bus), F_GETFL) & O_NONBLOCK) != 0);
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

static void test_a_function_that_waits_says_why_the_bus_closed(void)
{
  begin_greeted();
  put_frame(WIRE_KIND_ERROR, 0, 0, "\x09\0", 2, NULL, "too slow");
  shutdown(peer, SHUT_WR);
  tribune_error error;
  CHECK_EQUAL(tribune_flush(bus, UINT64_MAX, &error), -ECONNABORTED);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_TOO_SLOW);
  CHECK_TEXT(error.message, "too slow");
  expect_end(TRIBUNE_ERROR_TOO_SLOW);
  end();
}

static void test_a_bus_that_does_not_read_costs_bounded_memory(void)
{
  begin_greeted();
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
  CHECK_EQUAL(tribune_ask_async(bus, NULL, "a.shouldB", NULL, NULL, 0, NULL, record_message, NULL), -ENOBUFS);
  CHECK_EQUAL(tribune_wait(bus, 10000), 0);
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

static void receive_everything(void)
{
  char data[4096];
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(32 * sizeof(int))];
  } control;
  struct iovec part = {data, sizeof data};
  for (;;) {
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
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
  begin_greeted();
  size_t size = (size_t)1 << 24;
  char *data = calloc(1, size);
  CHECK(data != NULL);
  for (unsigned i = 0; i < 4; i++) {
    SUCCEED(tribune_post(bus, "a.b", NULL, data, size, NULL), NULL);
    CHECK_EQUAL(timeout_of(bus), -1);
  }
  /* The next file waits until the bus has received the others, which causes no event. */
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
    printf("test-limits: valgrind keeps limits on descriptors from the kernel\n");
    return;
  }
  begin_greeted();
  /* The kernel applies the limit only to users without privileges. */
  uid_t user = geteuid();
  CHECK(user != 0 || seteuid(65534) == 0);
  struct rlimit limit;
  CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlim_t before = limit.rlim_cur;
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
  limit.rlim_cur = before;
  CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
  CHECK_EQUAL(seteuid(user), 0);
  free(data);
  end();
}

static void test_user_info_goes_into_the_frame_without_a_file(void)
{
  if (getenv("TRIBUNE_UNDER_VALGRIND") != NULL) {
    printf("test-limits: valgrind keeps limits on descriptors from the kernel\n");
    return;
  }
  begin_greeted();
  char *data = calloc(1, 65536);
  CHECK(data != NULL);
  struct rlimit limit;
  CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlim_t before = limit.rlim_cur;
  limit.rlim_cur = 0;
  CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
  SUCCEED(tribune_post(bus, "a.b", NULL, data, 65536, NULL), NULL);
  limit.rlim_cur = before;
  CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
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
  begin_greeted();
  put_frame(WIRE_KIND_VERDICT, 0, 1, "abc", 3, NULL, NULL);
  tribune_error error;
  CHECK_EQUAL(tribune_ask(bus, "a.shouldB", NULL, NULL, 0, NULL, NULL, &error), -EPROTO);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_PROTOCOL_VIOLATION);
  expect_end(TRIBUNE_ERROR_PROTOCOL_VIOLATION);
  end();
}

static void test_a_bus_that_has_gone_is_no_signal(void)
{
  begin_greeted();
  struct record record = {0};
  SUCCEED(tribune_observe(bus, NULL, "a.*", NULL, 0, record_message, &record), NULL);
  put_frame(WIRE_KIND_ERROR, 0, 0, "\x09\0", 2, NULL, "too slow");
  close(peer);
  /* The client still reads the bus's last frame. */
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
  begin_greeted();
  tribune_error error;
  CHECK_EQUAL(tribune_flush(bus, 20000, &error), -ETIMEDOUT);
  CHECK_EQUAL(error.code, TRIBUNE_ERROR_TIMED_OUT);
  tribune_slot *slot;
  SUCCEED(tribune_hold(bus, &slot, "a.*", NULL, "why", NULL, NULL, NULL), NULL);
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
  begin_greeted();
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
    {"a file that is not as announced ends the connection", test_a_file_that_is_not_as_announced_ends_the_connection},
    {"descriptors that belong to no frame end the connection",
     test_descriptors_that_belong_to_no_frame_end_the_connection},
    {"a file that cannot be received is lost", test_a_file_that_cannot_be_received_is_lost},
    {"descriptors are closed on exec", test_descriptors_are_closed_on_exec},
    {"a function that waits says why the bus closed", test_a_function_that_waits_says_why_the_bus_closed},
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
