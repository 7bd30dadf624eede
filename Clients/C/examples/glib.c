/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A delegate in GLib's main loop. It vetoes reboots until SIGINT or SIGTERM.
 *
 *   cc glib.c $(pkg-config --cflags --libs tribune glib-2.0) -o veto
 *   ./veto
 */

#include <glib-unix.h>
#include <glib.h>
#include <tribune.h>

struct connection {
  GSource source;
  tribune *bus;
  gpointer tag;
  GMainLoop *loop;
};

static gboolean prepare(GSource *source, gint *timeout_ms)
{
  struct connection *connection = (struct connection *)source;
  guint64 until;
  int events = tribune_get_events(connection->bus);
  *timeout_ms = -1;
  if (events < 0 || tribune_get_timeout(connection->bus, &until) < 0) {
    return FALSE;
  }
  g_source_modify_unix_fd(source, connection->tag, (GIOCondition)events);
  /* Both times are in microseconds of CLOCK_MONOTONIC. */
  g_source_set_ready_time(source, until > G_MAXINT64 ? -1 : (gint64)until);
  return FALSE;
}

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer userdata)
{
  struct connection *connection = (struct connection *)source;
  tribune_error error;
  (void)callback, (void)userdata;
  if (tribune_process(connection->bus, &error) < 0) {
    g_printerr("the connection has ended, and nothing is vetoed any more: %s\n", error.message);
    g_main_loop_quit(connection->loop);
    return G_SOURCE_REMOVE;
  }
  return G_SOURCE_CONTINUE;
}

static GSourceFuncs functions = {.prepare = prepare, .dispatch = dispatch};

static void handle(tribune_slot *slot, tribune_message *message, void *userdata)
{
  (void)slot, (void)userdata;
  switch (tribune_message_get_type(message)) {
  case TRIBUNE_READY:
    g_print("attached\n");
    break;
  case TRIBUNE_QUESTION:
    tribune_veto(message, "the main loop says no");
    break;
  case TRIBUNE_ENDED:
    g_printerr("not a delegate any more: %s\n", tribune_message_get_error(message)->message);
    break;
  default:
    break;
  }
}

static gboolean quit(gpointer loop)
{
  g_main_loop_quit(loop);
  return G_SOURCE_CONTINUE;
}

int main(void)
{
  static const char *const patterns[] = {"host.shouldReboot", NULL};
  tribune *bus;
  tribune_error error;
  if (tribune_open(&bus, NULL, 0, 0, &error) < 0) {
    g_printerr("%s\n", error.message);
    return 1;
  }
  GMainLoop *loop = g_main_loop_new(NULL, FALSE);
  g_unix_signal_add(SIGINT, quit, loop);
  g_unix_signal_add(SIGTERM, quit, loop);
  struct connection *connection = (struct connection *)g_source_new(&functions, sizeof *connection);
  connection->bus = bus;
  connection->loop = loop;
  connection->tag = g_source_add_unix_fd(&connection->source, tribune_get_fd(bus), G_IO_IN);
  g_source_attach(&connection->source, NULL);
  int r = tribune_delegate(bus, NULL, patterns, NULL, &(tribune_delegate_options){.label = "glib"}, handle, NULL);
  if (r < 0) {
    g_printerr("cannot begin: %s\n", g_strerror(-r));
  } else {
    g_main_loop_run(loop);
  }
  /* The loop polls the connection's descriptor, so the source must go before the connection. */
  g_source_destroy(&connection->source);
  g_source_unref(&connection->source);
  g_main_loop_unref(loop);
  tribune_unref(bus);
  return r < 0;
}
