/* SPDX-License-Identifier: Apache-2.0 */
#include "inbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "memory.h"

/* Both are in bytes. Above NOTIFICATIONS_MAX, the inbox drops new notifications if at least ROOM are waiting. If other
   frames exceed OTHERS_MAX, the connection ends. */
#define NOTIFICATIONS_MAX ((size_t)16 << 20)
#define OTHERS_MAX ((size_t)128 << 20)
#define PARTIAL_MIN 4096u
/* The number of terminating zeros: one each after name, object and payload. */
#define ZEROS 3u

struct frame *frame_ref(struct frame *frame)
{
  frame->refs++;
  return frame;
}

void frame_unref(struct frame *frame)
{
  if (frame == NULL || --frame->refs > 0) {
    return;
  }
  if (frame->mapping != NULL) {
    munmap(frame->mapping, frame->mapping_length);
  }
  free(frame);
}

struct wire_reader frame_fields(const struct frame *frame)
{
  return wire_reader_of(frame->data, frame->header.fields_length);
}

const char *frame_name(const struct frame *frame)
{
  return (const char *)frame->data + frame->header.fields_length;
}

const char *frame_object(const struct frame *frame)
{
  return frame_name(frame) + frame->header.name_length + 1;
}

const char *frame_payload(const struct frame *frame)
{
  return frame_object(frame) + frame->header.object_length + 1;
}

size_t frame_size(const struct frame *frame)
{
  return sizeof *frame + frame->header.length + frame->mapping_length;
}

void inbox_begin(struct inbox *inbox)
{
  inbox->last = &inbox->first;
}

void inbox_end(struct inbox *inbox)
{
  struct frame *frame;
  while ((frame = inbox_take(inbox)) != NULL) {
    frame_unref(frame);
  }
  frame_unref(inbox->partial);
  inbox->partial = NULL;
  for (size_t i = 0; i < inbox->descriptor_count; i++) {
    if (inbox->descriptors[i] >= 0) {
      close(inbox->descriptors[i]);
    }
  }
  inbox->descriptor_count = 0;
}

static bool is_notification(const struct frame *frame)
{
  return frame->header.kind == WIRE_KIND_POST || frame->header.kind == WIRE_KIND_RETAINED;
}

struct frame *inbox_take_at(struct inbox *inbox, struct frame **link)
{
  struct frame *frame = *link;
  if (frame == NULL) {
    return NULL;
  }
  *link = frame->next;
  if (inbox->last == &frame->next) {
    inbox->last = link;
  }
  frame->next = NULL;
  if (is_notification(frame)) {
    inbox->notifications--;
    inbox->notifications_size -= frame_size(frame);
  } else {
    inbox->size -= frame_size(frame);
  }
  return frame;
}

struct frame *inbox_take(struct inbox *inbox)
{
  return inbox_take_at(inbox, &inbox->first);
}

static struct frame *dropped_at_end(struct inbox *inbox)
{
  /* The cast is valid, because `next` is the first member of a frame. */
  struct frame *frame = inbox->first == NULL ? NULL : (struct frame *)inbox->last;
  return frame != NULL && frame->header.kind == KIND_DROPPED ? frame : NULL;
}

static void append(struct inbox *inbox, struct frame *frame)
{
  frame->sequence = ++inbox->sequence;
  *inbox->last = frame;
  inbox->last = &frame->next;
  if (is_notification(frame)) {
    inbox->notifications++;
    inbox->notifications_size += frame_size(frame);
  } else {
    inbox->size += frame_size(frame);
  }
}

static int drop_notification(struct inbox *inbox, struct frame *frame)
{
  frame_unref(frame);
  struct frame *dropped = dropped_at_end(inbox);
  if (dropped == NULL) {
    dropped = calloc(1, sizeof *dropped + ZEROS);
    if (dropped == NULL) {
      return -ENOMEM;
    }
    dropped->refs = 1;
    dropped->header = (struct header){.length = HEADER_LENGTH, .kind = KIND_DROPPED};
    append(inbox, dropped);
  }
  dropped->dropped++;
  return 0;
}

static int take_file(struct inbox *inbox, struct frame *frame)
{
  struct wire_reader reader = frame_fields(frame);
  size_t length;
  if (frame->header.kind == WIRE_KIND_POST) {
    struct wire_post post;
    wire_read_post(&reader, &post);
    length = post.length;
  } else if (frame->header.kind == WIRE_KIND_RETAINED) {
    struct wire_retained retained;
    wire_read_retained(&reader, &retained);
    length = retained.length;
  } else {
    return -EBADMSG;
  }
  if (reader.failed || inbox->descriptor_count == 0 || header_payload_length(&frame->header) > 0) {
    return -EBADMSG;
  }
  int fd = inbox->descriptors[0];
  inbox->descriptor_count--;
  memmove(inbox->descriptors, inbox->descriptors + 1, inbox->descriptor_count * sizeof *inbox->descriptors);
  if (fd < 0) {
    frame->is_unreadable = true;
    return 0;
  }
  int result = memory_map(fd, length, &frame->mapping);
  if (result == 0) {
    frame->mapping_length = length;
  } else if (result != -EBADMSG) {
    frame->mapping = NULL;
    frame->is_unreadable = true;
  }
  return result == -EBADMSG ? result : 0;
}

static int finish(struct inbox *inbox)
{
  struct frame *frame = inbox->partial;
  inbox->partial = NULL;
  if ((frame->header.flags & WIRE_FRAME_FLAGS_DESCRIPTOR) != 0) {
    int result = take_file(inbox, frame);
    if (result < 0) {
      frame_unref(frame);
      return result;
    }
  }
  if (is_notification(frame)) {
    if (inbox->notifications >= ROOM && inbox->notifications_size + frame_size(frame) > NOTIFICATIONS_MAX) {
      return drop_notification(inbox, frame);
    }
  } else if (inbox->first != NULL && inbox->size + frame_size(frame) > OTHERS_MAX) {
    frame_unref(frame);
    return -ENOBUFS;
  }
  append(inbox, frame);
  return 0;
}

static int reserve(struct inbox *inbox, size_t wanted)
{
  if (wanted <= inbox->capacity) {
    return 0;
  }
  size_t all = (size_t)inbox->partial->header.length - HEADER_LENGTH + ZEROS;
  size_t capacity = inbox->capacity * 2 > wanted ? inbox->capacity * 2 : wanted;
  capacity = capacity < all ? capacity : all;
  struct frame *frame = realloc(inbox->partial, sizeof *frame + capacity);
  if (frame == NULL) {
    return -ENOMEM;
  }
  inbox->partial = frame;
  inbox->capacity = capacity;
  return 0;
}

static int begin_frame(struct inbox *inbox)
{
  struct header header;
  int result =
      header_decode(inbox->head, inbox->is_greeted ? &frame_limits_of_bus : &frame_limits_of_greeting, &header);
  if (result < 0) {
    return result;
  }
  size_t all = (size_t)header.length - HEADER_LENGTH + ZEROS;
  inbox->capacity = all < PARTIAL_MIN ? all : PARTIAL_MIN;
  inbox->filled = 0;
  inbox->partial = malloc(sizeof *inbox->partial + inbox->capacity);
  if (inbox->partial == NULL) {
    return -ENOMEM;
  }
  *inbox->partial = (struct frame){.refs = 1, .header = header};
  return 0;
}

/* Copies bytes into the partial frame, and terminates each part with a zero. Returns the number of bytes taken. */
static ssize_t fill(struct inbox *inbox, const uint8_t *data, size_t length)
{
  const struct header header = inbox->partial->header;
  size_t ends[3] = {(size_t)header.fields_length + header.name_length, 0, header.length - HEADER_LENGTH};
  ends[1] = ends[0] + header.object_length;
  size_t taken = 0;
  for (size_t part = 0; part < 3; part++) {
    size_t left = inbox->filled < ends[part] ? ends[part] - inbox->filled : 0;
    size_t count = left < length - taken ? left : length - taken;
    int result = reserve(inbox, inbox->filled + count + part + 1);
    if (result < 0) {
      return result;
    }
    if (count > 0) {
      memcpy(inbox->partial->data + inbox->filled + part, data + taken, count);
    }
    inbox->filled += count;
    taken += count;
    if (count < left) {
      break;
    }
    inbox->partial->data[ends[part] + part] = '\0';
  }
  return (ssize_t)taken;
}

static int take_hello(struct inbox *inbox)
{
  int result = hello_decode(inbox->head, &inbox->hello);
  if (result == 0 && (inbox->hello.minimum > PROTOCOL_VERSION || inbox->hello.version < PROTOCOL_VERSION)) {
    result = -EPROTONOSUPPORT;
  }
  inbox->has_hello = true;
  return result;
}

int inbox_feed(struct inbox *inbox, const uint8_t *data, size_t length)
{
  while (length > 0 || (inbox->partial != NULL && inbox->filled == inbox->partial->header.length - HEADER_LENGTH)) {
    if (inbox->partial == NULL) {
      size_t wanted = (inbox->has_hello ? HEADER_LENGTH : HELLO_LENGTH) - inbox->head_length;
      size_t count = wanted < length ? wanted : length;
      memcpy(inbox->head + inbox->head_length, data, count);
      inbox->head_length += count;
      data += count;
      length -= count;
      if (!inbox->has_hello && !hello_begins(inbox->head, inbox->head_length)) {
        return -EBADMSG;
      }
      if (count < wanted) {
        return 0;
      }
      inbox->head_length = 0;
      int result = inbox->has_hello ? begin_frame(inbox) : take_hello(inbox);
      if (result < 0) {
        return result;
      }
      continue;
    }
    ssize_t count = fill(inbox, data, length);
    if (count < 0) {
      return (int)count;
    }
    data += count;
    length -= (size_t)count;
    if (inbox->filled == inbox->partial->header.length - HEADER_LENGTH) {
      int result = finish(inbox);
      if (result < 0) {
        return result;
      }
      /* Only a peer that has sent a valid first frame may send long frames. */
      inbox->is_greeted = inbox->is_greeted || inbox->sequence > 0;
    }
  }
  return 0;
}

static int take_descriptors(struct inbox *inbox, struct msghdr *message)
{
  int result = 0;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int fd;
      memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      if (inbox->descriptor_count == DESCRIPTORS_MAX) {
        close(fd);
        result = -EBADMSG;
      } else {
        inbox->descriptors[inbox->descriptor_count++] = fd;
      }
    }
  }
  /* This process was at its limit of descriptors, so the kernel dropped the frame's descriptor. */
  if ((message->msg_flags & MSG_CTRUNC) != 0) {
    if (inbox->descriptor_count == DESCRIPTORS_MAX) {
      return -EBADMSG;
    }
    inbox->descriptors[inbox->descriptor_count++] = -1;
  }
  return result;
}

ssize_t inbox_read(struct inbox *inbox, int fd)
{
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE((DESCRIPTORS_MAX + 1) * sizeof(int))];
  } control;
  struct iovec part = {inbox->buffer, sizeof inbox->buffer};
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t count;
  do {
    count = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count < 0) {
    return errno == EAGAIN ? -EAGAIN : errno == ECONNRESET ? 0 : -errno;
  }
  int result = take_descriptors(inbox, &message);
  if (result == 0) {
    result = inbox_feed(inbox, inbox->buffer, (size_t)count);
  }
  /* A descriptor must belong to a frame that has begun. */
  if (result == 0 && inbox->descriptor_count > 0 && inbox->partial == NULL && inbox->head_length == 0) {
    result = -EBADMSG;
  }
  return result < 0 ? result : count;
}
