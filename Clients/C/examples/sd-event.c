/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An observer in the event loop of sd-event(3). It prints the names of notifications until SIGINT or SIGTERM.
 *
 *   cc -D_GNU_SOURCE sd-event.c $(pkg-config --cflags --libs tribune libsystemd) -o observe
 *   ./observe 'backup.**'
 *
 * sd-event calls `prepare` before each poll. It updates the event sources.
 */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <tribune.h>

struct connection {
  tribune *bus;
  sd_event_source *io;
  sd_event_source *timer;
};

/* Leaves the loop once the connection has ended. */
static int process(sd_event_source *source, struct connection *connection)
{
  tribune_error error;
  if (tribune_process(connection->bus, &error) < 0) {
    fprintf(stderr, "the connection has ended: %s\n", error.message);
    return sd_event_exit(sd_event_source_get_event(source), 1);
  }
  return 0;
}

static int handle_io(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
  (void)fd, (void)events;
  return process(source, userdata);
}

static int handle_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
  (void)usec;
  return process(source, userdata);
}

static int prepare(sd_event_source *source, void *userdata)
{
  struct connection *connection = userdata;
  uint64_t until;
  int events = tribune_get_events(connection->bus);
  (void)source;
  if (events < 0 || tribune_get_timeout(connection->bus, &until) < 0) {
    return 0;
  }
  sd_event_source_set_io_events(connection->io, (uint32_t)events);
  sd_event_source_set_time(connection->timer, until);
  return sd_event_source_set_enabled(connection->timer, until == UINT64_MAX ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

static void handle(tribune_slot *slot, tribune_message *message, void *userdata)
{
  (void)slot, (void)userdata;
  switch (tribune_message_get_type(message)) {
  case TRIBUNE_READY:
    printf("observing\n");
    break;
  case TRIBUNE_NOTIFICATION:
    printf("%s\n", tribune_message_get_name(message));
    break;
  case TRIBUNE_ENDED:
    fprintf(stderr, "not observing any more: %s\n", tribune_message_get_error(message)->message);
    break;
  default:
    break;
  }
  fflush(stdout);
}

int main(int argc, char **argv)
{
  struct connection connection = {0};
  sd_event *loop = NULL;
  tribune_error error;
  sigset_t signals;
  int r = tribune_open(&connection.bus, NULL, 0, 0, &error);
  if (r < 0) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  if ((r = sd_event_default(&loop)) < 0 || (r = sd_event_add_signal(loop, NULL, SIGINT, NULL, NULL)) < 0
      || (r = sd_event_add_signal(loop, NULL, SIGTERM, NULL, NULL)) < 0
      || (r = sd_event_add_io(loop, &connection.io, tribune_get_fd(connection.bus),
                              (uint32_t)tribune_get_events(connection.bus), handle_io, &connection))
             < 0
      || (r = sd_event_add_time(loop, &connection.timer, CLOCK_MONOTONIC, UINT64_MAX, 1, handle_timer, &connection)) < 0
      || (r = sd_event_source_set_prepare(connection.io, prepare)) < 0
      || (r = tribune_observe(connection.bus, NULL, argc > 1 ? argv[1] : NULL, NULL, 0, handle, NULL)) < 0) {
    fprintf(stderr, "cannot begin: %s\n", strerror(-r));
  } else {
    r = sd_event_loop(loop);
  }
  /* The loop polls the connection's descriptor, so the sources must go before the connection. */
  sd_event_source_unref(connection.io);
  sd_event_source_unref(connection.timer);
  sd_event_unref(loop);
  tribune_unref(connection.bus);
  return r != 0;
}
