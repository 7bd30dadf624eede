/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Simulates a bus that sends the fuzzer's bytes after its welcome. The first byte selects what the client's callbacks
 * do. fuzz/run runs this program.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../include/tribune.h"
#include "../src/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct client {
  tribune *bus;
  tribune_slot *slots[4];
  tribune_message *kept;
  unsigned choice;
};

static void require(bool condition)
{
  if (!condition) {
    perror("fuzz-connection");
    abort();
  }
}

static void handle(tribune_slot *slot, tribune_message *message, void *userdata)
{
  struct client *client = userdata;
  (void)slot;
  switch (client->choice++ % 8) {
  case 0:
    tribune_message_unref(client->kept);
    client->kept = tribune_message_ref(message);
    break;
  case 1:
    tribune_veto(message, "no");
    tribune_done(message);
    break;
  case 2:
    tribune_approve(client->kept);
    tribune_fail(client->kept, "late");
    break;
  case 3:
    client->slots[client->choice % 4] = tribune_slot_unref(client->slots[client->choice % 4]);
    break;
  case 4:
    tribune_observe(client->bus, NULL, NULL, NULL, TRIBUNE_OBSERVE_AWAITED, handle, client);
    break;
  case 5:
    tribune_flush(client->bus, 0, NULL);
    tribune_hold_wait(client->slots[2], 0, NULL);
    break;
  case 6:
    client->bus = tribune_unref(client->bus);
    break;
  default:
    break;
  }
}

static int listener = -1;
static char address[64];
static struct wire_writer greeting;

static void remove_socket(void)
{
  unlink(address + strlen("unix:"));
}

static void begin(void)
{
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  snprintf(name.sun_path, sizeof name.sun_path, "/tmp/tribune-fuzz-%d", (int)getpid());
  snprintf(address, sizeof address, "unix:%s", name.sun_path);
  unlink(name.sun_path);
  listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  require(listener >= 0 && bind(listener, (struct sockaddr *)&name, sizeof name) == 0 && listen(listener, 1) == 0);
  atexit(remove_socket);
  frame_begin(&greeting, WIRE_KIND_WELCOME, 0, 0);
  wire_write_welcome(&greeting, &(struct wire_welcome){.connection = 7, .payload_max = 65536, .deadline_default = 1});
  frame_end(&greeting, NULL, NULL, NULL, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const char *const patterns[] = {"**", NULL};
  if (size == 0) {
    return 0;
  }
  if (listener < 0) {
    begin();
  }
  struct client client = {.choice = data[0]};
  require(tribune_open(&client.bus, address, TRIBUNE_OPEN_POSTERS, 0, NULL) == 0);
  int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  require(peer >= 0);
  uint8_t hello[HELLO_LENGTH];
  hello_encode(hello, &(struct hello){1, 1, 1});
  require(send(peer, hello, sizeof hello, 0) == sizeof hello);
  require(send(peer, greeting.data, greeting.length, 0) == (ssize_t)greeting.length);
  tribune_observe(client.bus, &client.slots[0], NULL, NULL, TRIBUNE_OBSERVE_AWAITED, handle, &client);
  tribune_delegate(client.bus, &client.slots[1], patterns, NULL, NULL, handle, &client);
  tribune_hold(client.bus, &client.slots[2], NULL, NULL, "why", NULL, handle, &client);
  tribune_ask_options options = {.flags = TRIBUNE_ASK_BEGIN};
  tribune_ask_async(client.bus, &client.slots[3], "a.shouldB", NULL, NULL, 0, &options, handle, &client);
  tribune_post_awaited_async(client.bus, NULL, "a.b", NULL, NULL, 0, NULL, handle, &client);
  require(size == 1 || send(peer, data + 1, size - 1, MSG_NOSIGNAL) >= 0);
  shutdown(peer, SHUT_WR);
  while (client.bus != NULL && tribune_process(client.bus, NULL) >= 0) {
  }
  tribune_message_unref(client.kept);
  for (size_t i = 0; i < 4; i++) {
    tribune_slot_unref(client.slots[i]);
  }
  tribune_unref(client.bus);
  close(peer);
  return 0;
}
