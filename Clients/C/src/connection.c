/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bus.h"
#include "clock.h"
#include "error.h"

/* The time for the bus's welcome if tribune_open() does not wait. */
#define GREETING_USEC 30000000u

/* ---- Beginning and end ---- */

static void bus_free(tribune *bus)
{
  posters_free(bus);
  inbox_end(&bus->inbox);
  outbox_end(&bus->outbox);
  if (bus->fd >= 0) {
    close(bus->fd);
  }
  tribune_message_unref(bus->ending);
  free(bus);
}

static int bus_new(tribune **ret, unsigned flags)
{
  tribune *bus = calloc(1, sizeof *bus);
  tribune_message *ending = message_of_error(&(tribune_error){0});
  if (bus == NULL || ending == NULL) {
    free(bus);
    tribune_message_unref(ending);
    return -ENOMEM;
  }
  bus->refs = 1;
  bus->process = getpid();
  bus->fd = -1;
  bus->payload_max = WIRE_PAYLOAD_LENGTH_FLOOR;
  bus->deadline_default_ms = 30000;
  bus->ending = ending;
  bus->greeting_until_usec = usec_from_now(GREETING_USEC);
  outbox_begin(&bus->outbox);
  inbox_begin(&bus->inbox);
  *ret = bus;
  struct hello hello = {PROTOCOL_VERSION, PROTOCOL_VERSION,
                        ACCEPTS_DESCRIPTORS | ((flags & TRIBUNE_OPEN_POSTERS) != 0 ? WANTS_POSTERS : 0)};
  uint8_t *bytes = malloc(HELLO_LENGTH);
  if (bytes == NULL) {
    bus_free(bus);
    return -ENOMEM;
  }
  hello_encode(bytes, &hello);
  int result = outbox_add(&bus->outbox, bytes, HELLO_LENGTH, -1, 0);
  if (result < 0) {
    bus_free(bus);
  }
  return result;
}

static int try_open(tribune **ret, const struct address *address, unsigned flags, uint64_t until_usec,
                    tribune_error *error)
{
  tribune *bus;
  int result = bus_new(&bus, flags);
  if (result < 0) {
    return error_system(error, result, "cannot make a connection");
  }
  result = bus->fd = address_connect(address, error);
  if (result >= 0) {
    result = 0;
    bus_write(bus);
  }
  while (until_usec > 0 && result == 0 && bus->phase == PHASE_GREETING) {
    result = bus_pump(bus, until_usec);
    if (result == -ETIMEDOUT) {
      error_set(error, result, TRIBUNE_ERROR_UNREACHABLE, "the listener at unix:%s did not send a welcome",
                address->path);
    } else if (result < 0) {
      error_system(error, result, "waiting for the bus failed");
    } else if (bus->is_input_over) {
      result = bus->ending->error->number;
      if (error != NULL) {
        *error = *bus->ending->error;
      }
    }
  }
  if (result < 0) {
    bus_free(bus);
    return result;
  }
  *ret = bus;
  return 0;
}

int tribune_open(tribune **ret, const char *address, unsigned flags, uint64_t timeout_usec, tribune_error *error)
{
  struct address found;
  if (ret == NULL || (flags & ~TRIBUNE_OPEN_POSTERS) != 0) {
    return error_number(error, -EINVAL);
  }
  int result = address_find(&found, address, error);
  if (result < 0) {
    return result;
  }
  uint64_t until_usec = timeout_usec == 0 ? 0 : usec_from_now(timeout_usec);
  /* Tries again if the bus's backlog is full, because no event reports that it has space again. Also tries again if a
     bus closes the connection before its welcome: that bus may have been killed, and the next may already listen. */
  for (uint64_t pause_usec = 5000;; pause_usec = pause_usec < 80000 ? pause_usec * 2 : pause_usec) {
    result = try_open(ret, &found, flags, until_usec, error);
    bool is_passing = result == -EAGAIN || (result == -ECONNRESET && pause_usec < 80000);
    if (!is_passing || until_usec == 0 || usec_from_now(pause_usec) >= until_usec) {
      return result;
    }
    struct timespec pause = {.tv_nsec = (long)pause_usec * 1000};
    nanosleep(&pause, NULL);
  }
}

tribune *tribune_ref(tribune *bus)
{
  if (bus != NULL) {
    bus->refs++;
  }
  return bus;
}

static void abandon(tribune *bus)
{
  if (bus->process == getpid() && bus->phase != PHASE_ENDED) {
    bus_write(bus);
  }
  bus->phase = PHASE_ENDED;
  struct slot_list *lists[] = {&bus->requests, &bus->registrations, &bus->retiring};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    while (lists[i]->first != NULL) {
      slot_finish(lists[i]->first);
    }
  }
  while (bus->messages != NULL) {
    message_unlist(bus->messages);
  }
}

tribune *tribune_unref(tribune *bus)
{
  if (bus == NULL || --bus->refs > 0) {
    return NULL;
  }
  abandon(bus);
  close(bus->fd);
  bus->fd = -1;
  if (bus->pins == 0) {
    bus_free(bus);
  }
  return NULL;
}

static void end_connection(tribune *bus)
{
  bus->phase = PHASE_ENDED;
  /* Without this call, the bus would keep registrations in force that no callback handles. The descriptor stays open,
     because the program may still poll it. */
  shutdown(bus->fd, SHUT_RDWR);
  outbox_end(&bus->outbox);
  inbox_end(&bus->inbox);
  dispatch_ending(bus);
}

/* ---- What programs call ---- */

int tribune_flush(tribune *bus, uint64_t timeout_usec, tribune_error *error)
{
  int result = bus_check(bus);
  tribune_slot *slot = result < 0 ? NULL : slot_new(SLOT_FLUSH, NULL, NULL);
  if (slot == NULL) {
    return error_number(error, result < 0 ? result : -ENOMEM);
  }
  /* The bus handles frames in order, so the reply to the last one covers all. */
  slot->serial = bus_next_serial(bus);
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_CANCEL, 0, slot->serial);
  wire_write_cancel(&writer, &(struct wire_cancel){.target = 0});
  frame_end(&writer, NULL, NULL, NULL, 0);
  result = slot_send(slot, bus, &writer, &slot);
  if (result < 0) {
    return error_number(error, result);
  }
  tribune_message *message;
  result = bus_await_result(bus, slot, usec_from_now(timeout_usec), &message, error);
  if (result == 0) {
    tribune_message_unref(message);
  }
  return result;
}

int tribune_set_pace(tribune *bus, uint64_t pace_usec)
{
  int result = bus_check(bus);
  if (result < 0) {
    return result;
  }
  uint64_t limit = pace_usec / 1000 + (pace_usec % 1000 != 0);
  if (pace_usec != UINT64_MAX && limit > UINT16_MAX - 1) {
    return -EINVAL;
  }
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_PACE, 0, 0);
  wire_write_pace(&writer, &(struct wire_pace){.limit = pace_usec == UINT64_MAX ? UINT16_MAX : (uint16_t)limit});
  frame_end(&writer, NULL, NULL, NULL, 0);
  return bus_send(bus, &writer, -1, 0);
}

int tribune_get_id(tribune *bus, uint64_t *ret)
{
  if (bus == NULL || ret == NULL) {
    return -EINVAL;
  }
  if (bus->id == 0) {
    return -EAGAIN;
  }
  *ret = bus->id;
  return 0;
}

size_t tribune_get_payload_max(tribune *bus)
{
  return bus == NULL ? 0 : bus->payload_max;
}

int tribune_get_fd(tribune *bus)
{
  int result = bus_check(bus);
  return result < 0 ? result : bus->fd;
}

int tribune_get_events(tribune *bus)
{
  int result = bus_check(bus);
  return result < 0 ? result : POLLIN | (bus->outbox.is_stuck ? POLLOUT : 0);
}

int tribune_get_timeout(tribune *bus, uint64_t *ret_usec)
{
  int result = bus_check(bus);
  if (result < 0 || ret_usec == NULL) {
    return result < 0 ? result : -EINVAL;
  }
  *ret_usec = UINT64_MAX;
  if (bus->inbox.first != NULL || bus->is_input_over) {
    *ret_usec = 0;
  } else if (bus->outbox.retry_usec > 0) {
    *ret_usec = bus->outbox.retry_usec;
  } else if (bus->phase == PHASE_GREETING) {
    *ret_usec = bus->greeting_until_usec;
  }
  return 0;
}

/* Handles the frames in the inbox, except those that arrive during a callback. */
static bool handle_inbox(tribune *bus)
{
  bool has_handled = false;
  uint64_t last = bus->inbox.sequence;
  while (bus->phase != PHASE_ENDED && bus->inbox.first != NULL && bus->inbox.first->sequence <= last) {
    struct frame *frame = inbox_take(&bus->inbox);
    int result = dispatch(bus, frame);
    if (result == 0 && bus->phase == PHASE_OPEN && bus->limit > 0 && bus->handled + ROOM / 2 >= bus->limit) {
      result = bus_give_room(bus);
    }
    frame_unref(frame);
    has_handled = true;
    if (result < 0) {
      tribune_error error;
      error_number(&error, result == -EPROTO ? -EBADMSG : result);
      bus_break(bus, &error);
      inbox_end(&bus->inbox);
      break;
    }
  }
  return has_handled;
}

int tribune_process(tribune *bus, tribune_error *error)
{
  int result = bus_check(bus);
  if (result < 0) {
    return error_number(error, result);
  }
  if (bus->is_processing) {
    return error_set(error, -EBUSY, TRIBUNE_ERROR_INVALID_ARGUMENT, "tribune_process() is running already");
  }
  bus->is_processing = true;
  bus->pins++;
  bus_write(bus);
  bool is_something = bus->inbox.first == NULL && bus_read(bus);
  if (bus->phase == PHASE_GREETING && now_usec() >= bus->greeting_until_usec) {
    tribune_error late;
    error_set(&late, -ETIMEDOUT, TRIBUNE_ERROR_UNREACHABLE, "the bus did not send a welcome");
    bus_break(bus, &late);
  }
  is_something = handle_inbox(bus) || is_something;
  result = is_something;
  if (bus->phase != PHASE_ENDED && bus->is_input_over && bus->inbox.first == NULL) {
    result = bus->ending->error->number;
    if (error != NULL) {
      *error = *bus->ending->error;
    }
    end_connection(bus);
  }
  bus->is_processing = false;
  if (--bus->pins == 0 && bus->refs == 0) {
    bus_free(bus);
  }
  return result;
}

int tribune_wait(tribune *bus, uint64_t timeout_usec)
{
  uint64_t wake;
  int result = tribune_get_timeout(bus, &wake);
  if (result < 0) {
    return result;
  }
  uint64_t now = now_usec();
  uint64_t until = usec_from_now(timeout_usec);
  bool is_ours = wake <= until && wake != UINT64_MAX;
  until = is_ours ? wake : until;
  uint64_t span = until > now ? until - now : 0;
  struct timespec timeout = {.tv_sec = (time_t)(span / 1000000), .tv_nsec = (long)(span % 1000000) * 1000};
  struct pollfd waiting = {.fd = bus->fd, .events = (short)tribune_get_events(bus)};
  int count = ppoll(&waiting, 1, until == UINT64_MAX ? NULL : &timeout, NULL);
  return count < 0 ? -errno : count > 0 || is_ours;
}
