/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness.h"

int peer;
tribune *bus;
char address[128];

int listen_at(const char *path)
{
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  strcpy(name.sun_path, path);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(listener >= 0);
  CHECK_EQUAL(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
  CHECK_EQUAL(listen(listener, 1), 0);
  return listener;
}

void begin(void)
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

void end(void)
{
  tribune_unref(bus);
  close(peer);
}

void put(const void *data, size_t length)
{
  CHECK_EQUAL(send(peer, data, length, MSG_NOSIGNAL), length);
}

void put_hello(const struct hello *hello)
{
  uint8_t data[HELLO_LENGTH];
  hello_encode(data, hello);
  put(data, sizeof data);
}

struct wire_writer greeting(void)
{
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_WELCOME, 0, 0);
  wire_write_welcome(&writer, &(struct wire_welcome){.connection = 7,
                                                     .payload_max = 1 << 24,
                                                     .deadline_max = 60000,
                                                     .deadline_default = 30000,
                                                     .software = wire_text_of("made up")});
  frame_end(&writer, NULL, NULL, NULL, 0);
  return writer;
}

void greet(void)
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

void begin_greeted(void)
{
  begin();
  greet();
}

void put_frame(uint8_t kind, uint8_t flags, uint64_t serial, const void *fields, size_t fields_length, const char *name,
               const char *payload)
{
  struct wire_writer writer = {0};
  frame_begin(&writer, kind, flags, serial);
  wire_write(&writer, fields, fields_length);
  frame_end(&writer, name, NULL, payload, payload == NULL ? 0 : strlen(payload));
  put(writer.data, writer.length);
  wire_writer_free(&writer);
}

void observe(struct record *record)
{
  SUCCEED(tribune_observe(bus, NULL, "a.*", NULL, 0, record_message, record), NULL);
  struct wire_writer fields = {0};
  wire_write_okay(&fields, &(struct wire_okay){.registration = 1});
  put_frame(WIRE_KIND_OK, 0, 1, fields.data, fields.length, NULL, NULL);
  wire_writer_free(&fields);
  await_message(bus, record, TRIBUNE_READY, 1);
}

void expect_end(int code)
{
  tribune_error error = await_end(bus);
  if (error.code != code) {
    fail(__FILE__, __LINE__, "ended with %d, not %d: %s", error.code, code, error.message);
  }
  CHECK_EQUAL(tribune_process(bus, NULL), -ENOTCONN);
  /* The bus sees the end, although the program still has its reference. */
  char data[4096];
  ssize_t count;
  while ((count = recv(peer, data, sizeof data, 0)) > 0) {
  }
  CHECK(count == 0 || errno == ECONNRESET);
}
