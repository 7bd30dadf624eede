/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <tribune.h>

static void handle(tribune_slot *slot, tribune_message *message, void *userdata)
{
  (void)slot;
  if (tribune_message_get_type(message) == TRIBUNE_NOTIFICATION) {
    printf("%s\n", tribune_message_get_name(message));
    *(bool *)userdata = true;
  }
}

/* Returns -1 for never. */
static int milliseconds_left(tribune *bus)
{
  uint64_t until;
  struct timespec now;
  if (tribune_get_timeout(bus, &until) < 0 || until == UINT64_MAX) {
    return -1;
  }
  clock_gettime(CLOCK_MONOTONIC, &now);
  uint64_t usec = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
  return until <= usec ? 0 : (int)((until - usec) / 1000 + 1);
}

int main(void)
{
  tribune *bus;
  tribune_error error;
  bool done = false;
  int r = tribune_open(&bus, NULL, 0, 0, &error);
  if (r < 0) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  tribune_observe(bus, NULL, "door.*", NULL, 0, handle, &done);
  tribune_post(bus, "door.didOpen", NULL, NULL, 0, NULL);
  while (!done) {
    r = tribune_process(bus, &error);
    if (r < 0) {
      fprintf(stderr, "the connection has ended: %s\n", error.message);
      break;
    }
    struct pollfd fds[] = {{.fd = tribune_get_fd(bus), .events = (short)tribune_get_events(bus)}};
    if (!done && poll(fds, 1, milliseconds_left(bus)) < 0 && errno != EINTR) {
      break;
    }
  }
  tribune_unref(bus);
  return done ? 0 : 1;
}
