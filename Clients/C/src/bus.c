/* SPDX-License-Identifier: Apache-2.0 */
#include "bus.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "error.h"

/* How long a bus may take for its welcome if nobody waits for it. */
#define GREETING_USEC 30000000u
/* How much longer a function waits than the bus may take. */
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

int bus_require_capacity(const tribune *bus, size_t payload)
{
  return payload > bus->payload_max ? -EMSGSIZE : outbox_is_full(&bus->outbox) ? -ENOBUFS : 0;
}

void bus_break(tribune *bus, const tribune_error *error)
{
  if (!bus->is_input_over) {
    bus->is_input_over = true;
    *bus->ending->error = *error;
  }
}

static void write_outbox(tribune *bus)
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
  /* What waits already waits for the kernel. */
  if (result == 0 && !was_waiting) {
    write_outbox(bus);
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
  bus->payload_max = welcome.payload_max < WIRE_PAYLOAD_LENGTH_CEILING ? welcome.payload_max
                                                                       : WIRE_PAYLOAD_LENGTH_CEILING;
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
  /* The codes up to 63 are about the connection. */
  if (reader.failed || refusal.code > 63) {
    return false;
  }
  error_refusal(error, refusal.code, frame_payload(frame));
  return true;
}

/* The bus has closed the connection. What it sent last says why. */
static void find_reason(tribune *bus, tribune_error *error)
{
  error_set(error, -ECONNRESET, TRIBUNE_ERROR_CONNECTION_LOST, "the bus closed the connection");
  for (const struct frame *frame = bus->inbox.first; frame != NULL; frame = frame->next) {
    bus_is_closed_by(frame, error);
  }
}

/* Reads once. Returns whether anything has come, or the end. */
static bool read_inbox(tribune *bus)
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

int bus_pump(tribune *bus, uint64_t until_usec)
{
  write_outbox(bus);
  uint64_t now = now_usec();
  uint64_t wake = bus->outbox.retry_usec > 0 && bus->outbox.retry_usec < until_usec ? bus->outbox.retry_usec : until_usec;
  uint64_t span = wake > now ? wake - now : 0;
  /* Of a long time, the caller makes several. */
  struct timespec timeout = {.tv_sec = (time_t)(span / 1000000 < 3600 ? span / 1000000 : 3600),
                             .tv_nsec = (long)(span % 1000000) * 1000};
  struct pollfd waiting = {.fd = bus->fd, .events = (short)(POLLIN | (bus->outbox.is_stuck ? POLLOUT : 0))};
  int count = bus->is_input_over ? 0 : ppoll(&waiting, 1, &timeout, NULL);
  if (count < 0 && errno != EINTR) {
    return -errno;
  }
  if (count > 0) {
    read_inbox(bus);
  }
  return count == 0 && now_usec() >= until_usec ? -ETIMEDOUT : 0;
}

static bool is_reply(const struct frame *frame, uint64_t serial)
{
  return frame->header.serial == serial
         && (frame->header.kind == WIRE_KIND_OK || frame->header.kind == WIRE_KIND_ERROR
             || frame->header.kind == WIRE_KIND_VERDICT || frame->header.kind == WIRE_KIND_AWAITED);
}

int bus_await_reply(tribune *bus, uint64_t serial, uint64_t until_usec, struct frame ***ret, tribune_error *error)
{
  /* Nothing else takes frames out meanwhile, so each is looked at once. */
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

int bus_await_result(tribune *bus, tribune_slot *slot, uint64_t until_usec, tribune_message **ret,
                     tribune_error *error)
{
  struct frame **link;
  int result = bus_await_reply(bus, slot->serial, until_usec, &link, error);
  if (result == 0) {
    struct frame *frame = inbox_take_at(&bus->inbox, link);
    result = dispatch_reply(slot, frame, ret, error);
    frame_unref(frame);
    slot_pin(slot);
    slot_finish(slot);
    slot_unpin(slot);
  }
  tribune_slot_unref(slot);
  return result;
}

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

/* Connects, and waits for the welcome unless `until_usec` is 0. */
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
    write_outbox(bus);
  }
  while (until_usec > 0 && result == 0 && bus->phase == PHASE_GREETING) {
    result = bus_pump(bus, until_usec);
    if (result < 0) {
      error_set(error, result, TRIBUNE_ERROR_UNREACHABLE, "the listener at unix:%s did not send a welcome",
                address->path);
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
  /* A bus whose backlog is full does not say when it has a place again, and one that closes the connection before its
     welcome may just have been killed, with the next one listening already. */
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

/* Nobody wants the connection any more: it ends without a word to its slots. */
static void abandon(tribune *bus)
{
  if (bus->process == getpid() && bus->phase != PHASE_ENDED) {
    write_outbox(bus);
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

/* The input is over and handled: every slot learns it. */
static void end_connection(tribune *bus)
{
  bus->phase = PHASE_ENDED;
  /* So that the bus does not keep in force what nobody here handles any more. The number of the descriptor stays taken,
     since the program may still poll it. */
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
  /* Frames are handled in their order: the reply to the last one says that the bus has handled all. */
  slot->serial = bus_next_serial(bus);
  struct wire_writer writer = {0};
  frame_begin(&writer, WIRE_KIND_CANCEL, 0, slot->serial);
  wire_write_cancel(&writer, &(struct wire_cancel){.target = 0});
  frame_end(&writer, NULL, NULL, NULL, 0);
  result = bus_send(bus, &writer, -1, 0);
  if (result < 0) {
    slot_free(slot);
    return error_number(error, result);
  }
  slot_begin(slot, bus, &slot);
  tribune_message *message;
  result = bus_await_result(bus, slot, usec_from_now(timeout_usec), &message, error);
  if (result == 0) {
    tribune_message_unref(message);
  }
  return result;
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

/* Handles what waits, but not what arrives while callbacks wait. Returns whether there was anything. */
static bool handle_inbox(tribune *bus)
{
  bool has_handled = false;
  uint64_t last = bus->inbox.sequence;
  while (bus->phase != PHASE_ENDED && bus->inbox.first != NULL && bus->inbox.first->sequence <= last) {
    struct frame *frame = inbox_take(&bus->inbox);
    int result = dispatch(bus, frame);
    frame_unref(frame);
    has_handled = true;
    if (result < 0) {
      tribune_error error;
      error_number(&error, result == -EPROTO ? -EBADMSG : result);
      bus_break(bus, &error);
      /* What stands behind it would be handled in the wrong state. */
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
  write_outbox(bus);
  bool is_something = bus->inbox.first == NULL && read_inbox(bus);
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
