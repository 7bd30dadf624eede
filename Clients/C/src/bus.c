/* SPDX-License-Identifier: Apache-2.0 */
#include "bus.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"

/* A wait for a reply ends this long after the deadline of the request. */
#define GRACE_USEC 5000000u

int bus_check(const tribune *bus)
{
  if (bus == NULL) {
    return -EINVAL;
  }
  if (bus->process != getpid()) {
    return -ECHILD;
  }
  return bus->phase == PHASE_ENDED ? -ENOTCONN : 0;
}

uint64_t bus_next_serial(tribune *bus)
{
  return ++bus->last_serial;
}

uint64_t bus_deadline_usec(const tribune *bus, uint32_t deadline_ms)
{
  uint64_t milliseconds = deadline_ms > 0 ? deadline_ms : bus->deadline_default_ms;
  return usec_from_now(milliseconds * 1000 + GRACE_USEC);
}

int bus_require_capacity(const tribune *bus)
{
  return outbox_is_full(&bus->outbox) ? -ENOBUFS : 0;
}

int bus_require_payload(const tribune *bus, const void *data, size_t *size)
{
  if (*size == TRIBUNE_STRING) {
    *size = data == NULL ? 0 : strlen(data);
  }
  return data == NULL && *size > 0 ? -EINVAL : *size > bus->payload_max ? -EMSGSIZE : 0;
}

void bus_break(tribune *bus, const tribune_error *error)
{
  if (!bus->is_input_over) {
    bus->is_input_over = true;
    *bus->ending->error = *error;
  }
}

void bus_write(tribune *bus)
{
  int result = outbox_write(&bus->outbox, bus->fd);
  if (result < 0) {
    tribune_error error;
    error_system(&error, result, "writing to the bus failed");
    bus_break(bus, &error);
  }
}

int bus_send(tribune *bus, struct wire_writer *writer, int file, size_t file_length)
{
  if (writer->failed) {
    wire_writer_free(writer);
    if (file >= 0) {
      close(file);
    }
    return -ENOMEM;
  }
  bool was_waiting = bus->outbox.first != NULL;
  int result = outbox_add(&bus->outbox, writer->data, writer->length, file, file_length);
  *writer = (struct wire_writer){0};
  /* If earlier frames wait, the kernel has no space for more. */
  if (result == 0 && !was_waiting) {
    bus_write(bus);
  }
  return result;
}

int bus_give_room(tribune *bus)
{
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_ROOM, 0, 0);
  wire_write_room(&writer, &(struct wire_room){.limit = bus->handled + ROOM});
  frame_end(&writer, NULL, NULL, NULL, 0);
  int result = bus_send(bus, &writer, -1, 0);
  if (result == 0) {
    bus->limit = bus->handled + ROOM;
  }
  return result;
}

/* ---- Reading ---- */

static int take_welcome(tribune *bus, const struct frame *frame, tribune_error *error)
{
  struct wire_reader reader = frame_fields(frame);
  if (frame->header.kind == WIRE_KIND_ERROR) {
    struct wire_refusal refusal;
    wire_read_refusal(&reader, &refusal);
    return reader.failed ? error_number(error, -EBADMSG) : error_refusal(error, refusal.code, frame_payload(frame));
  }
  struct wire_welcome welcome;
  wire_read_welcome(&reader, &welcome);
  if (frame->header.kind != WIRE_KIND_WELCOME || reader.failed) {
    return error_violation(error, "its first frame is no welcome");
  }
  bus->phase = PHASE_OPEN;
  bus->id = welcome.connection;
  bus->payload_max =
      welcome.payload_max < WIRE_PAYLOAD_LENGTH_CEILING ? welcome.payload_max : WIRE_PAYLOAD_LENGTH_CEILING;
  bus->deadline_default_ms = welcome.deadline_default;
  bus->accepts_files = (bus->inbox.hello.capabilities & ACCEPTS_DESCRIPTORS) != 0;
  return 0;
}

bool bus_is_closed_by(const struct frame *frame, tribune_error *error)
{
  struct wire_reader reader = frame_fields(frame);
  struct wire_refusal refusal;
  if (frame->header.kind != WIRE_KIND_ERROR || frame->header.serial != 0) {
    return false;
  }
  wire_read_refusal(&reader, &refusal);
  /* Codes up to 63 end the connection. */
  if (reader.failed || refusal.code > 63) {
    return false;
  }
  error_refusal(error, refusal.code, frame_payload(frame));
  return true;
}

static void find_reason(tribune *bus, tribune_error *error)
{
  error_set(error, -ECONNRESET, TRIBUNE_ERROR_CONNECTION_LOST, "the bus closed the connection");
  for (const struct frame *frame = bus->inbox.first; frame != NULL; frame = frame->next) {
    bus_is_closed_by(frame, error);
  }
}

bool bus_read(tribune *bus)
{
  if (bus->is_input_over) {
    return false;
  }
  tribune_error error;
  ssize_t count = inbox_read(&bus->inbox, bus->fd);
  if (count == -EAGAIN) {
    return false;
  }
  int result = 0;
  if (bus->phase == PHASE_GREETING && bus->inbox.first != NULL) {
    struct frame *frame = inbox_take(&bus->inbox);
    result = take_welcome(bus, frame, &error);
    frame_unref(frame);
  }
  if (result == 0 && count <= 0) {
    if (count == 0) {
      find_reason(bus, &error);
    } else if (count == -EPROTONOSUPPORT) {
      error_set(&error, -EPROTONOSUPPORT, TRIBUNE_ERROR_UNSUPPORTED_VERSION, "the bus does not speak version %u",
                PROTOCOL_VERSION);
    } else if (count == -EBADMSG || count == -EMSGSIZE) {
      error_violation(&error, count == -EMSGSIZE ? "a frame is too long" : "it sends what is no frame");
    } else {
      error_system(&error, (int)count, "reading from the bus failed");
    }
    result = -1;
  }
  if (result < 0) {
    bus_break(bus, &error);
  }
  return true;
}

static int wait_once(tribune *bus, uint64_t until_usec)
{
  uint64_t now = now_usec();
  uint64_t wake =
      bus->outbox.retry_usec > 0 && bus->outbox.retry_usec < until_usec ? bus->outbox.retry_usec : until_usec;
  uint64_t span = wake > now ? wake - now : 0;
  /* One wait ends after an hour at most. The caller then waits again. */
  struct timespec timeout = {.tv_sec = (time_t)(span / 1000000 < 3600 ? span / 1000000 : 3600),
                             .tv_nsec = (long)(span % 1000000) * 1000};
  struct pollfd waiting = {.fd = bus->fd, .events = (short)(POLLIN | (bus->outbox.is_stuck ? POLLOUT : 0))};
  int count = bus->is_input_over ? 0 : ppoll(&waiting, 1, &timeout, NULL);
  if (count < 0 && errno != EINTR) {
    return -errno;
  }
  if (count > 0) {
    bus_read(bus);
  }
  return count == 0 && now_usec() >= until_usec ? -ETIMEDOUT : 0;
}

int bus_pump(tribune *bus, uint64_t until_usec)
{
  bus_write(bus);
  return wait_once(bus, until_usec);
}

void bus_await_capacity(tribune *bus, uint64_t until_usec)
{
  while (bus_check(bus) == 0 && outbox_is_full(&bus->outbox) && !bus->is_input_over) {
    bus_write(bus);
    if (outbox_is_full(&bus->outbox) && wait_once(bus, until_usec) < 0) {
      return;
    }
  }
}

static bool is_reply(const struct frame *frame, uint64_t serial)
{
  return frame->header.serial == serial
         && (frame->header.kind == WIRE_KIND_OK || frame->header.kind == WIRE_KIND_ERROR
             || frame->header.kind == WIRE_KIND_VERDICT || frame->header.kind == WIRE_KIND_AWAITED);
}

int bus_await_reply(tribune *bus, uint64_t serial, uint64_t until_usec, struct frame ***ret, tribune_error *error)
{
  struct frame **link = &bus->inbox.first;
  for (;;) {
    for (; *link != NULL; link = &(*link)->next) {
      if (is_reply(*link, serial)) {
        *ret = link;
        return 0;
      }
    }
    if (bus->is_input_over) {
      if (error != NULL) {
        *error = *bus->ending->error;
      }
      return bus->ending->error->number;
    }
    int result = bus_pump(bus, until_usec);
    if (result < 0) {
      return error_number(error, result);
    }
  }
}

int bus_await_result(tribune *bus, tribune_slot *slot, uint64_t until_usec, tribune_message **ret, tribune_error *error)
{
  struct frame **link;
  tribune_error why;
  int result = bus_await_reply(bus, slot->serial, until_usec, &link, &why);
  if (result == 0) {
    struct frame *frame = inbox_take_at(&bus->inbox, link);
    result = dispatch_reply(slot, frame, ret, &why);
    frame_unref(frame);
    /* Without memory for a verdict, the action may be under way. Dropping the slot then ends it. */
    if (result != -ENOMEM) {
      slot_complete(slot, result == 0 ? *ret : NULL);
    }
    if (result < 0 && why.code == TRIBUNE_ERROR_PROTOCOL_VIOLATION) {
      bus_break(bus, &why);
    }
  }
  tribune_slot_unref(slot);
  if (result < 0 && error != NULL) {
    *error = why;
  }
  return result;
}
