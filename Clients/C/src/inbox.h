/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_INBOX_H
#define TRIBUNE_INBOX_H

/*
 * What has arrived: bytes become frames, which wait here in their order.
 *
 * It takes memory for bytes that have arrived, never for a length that was announced. While the program waits in a
 * function, frames gather. Beyond a bound, notifications are dropped, and in their place stands a frame without a kind
 * that has their number.
 */

#include <sys/types.h>

#include "frame.h"

/* The kind of a frame that stands for dropped notifications. The protocol has no kind 0. */
#define KIND_DROPPED 0u
/* Descriptors that may wait for the rest of their frames. */
#define DESCRIPTORS_MAX 16u

/* A frame that has arrived whole. Name, object and payload each end with a zero. */
struct frame {
  struct frame *next;
  unsigned refs;
  uint64_t sequence; /* Frames are counted as they arrive. */
  struct header header;
  void *mapping; /* userInfo that came in a file, and its length; else NULL. */
  size_t mapping_length;
  bool is_unreadable; /* userInfo came in a file that this process could not receive. */
  uint64_t dropped;   /* Of KIND_DROPPED: how many notifications. */
  uint8_t data[];     /* Fields, name, object, payload. */
};

struct frame *frame_ref(struct frame *frame);
void frame_unref(struct frame *frame);
struct wire_reader frame_fields(const struct frame *frame);
const char *frame_name(const struct frame *frame);
const char *frame_object(const struct frame *frame);
/* Ends with a zero. */
const char *frame_payload(const struct frame *frame);
/* Bytes of memory, for the limits of the inbox. */
size_t frame_size(const struct frame *frame);

struct inbox {
  /* Frames that wait. */
  struct frame *first;
  struct frame **last;
  size_t size;
  uint64_t sequence;
  /* The bus's hello, and the headers behind it. */
  uint8_t head[HEADER_LENGTH];
  size_t head_length;
  bool has_hello;
  struct hello hello;
  /* Whether the bus has sent its welcome, so that it may send long frames. */
  bool is_greeted;
  /* The partial frame, how many of its bytes have arrived behind the header, and its capacity. */
  struct frame *partial;
  size_t filled;
  size_t capacity;
  /* Descriptors that no frame has taken; -1 for one that this process could not receive. */
  int descriptors[DESCRIPTORS_MAX + 1];
  size_t descriptor_count;
  uint8_t buffer[65536];
};

void inbox_begin(struct inbox *inbox);
void inbox_end(struct inbox *inbox);
/* Reads once. Returns the number of bytes, 0 at the end of the stream; -EAGAIN if there is nothing. Bytes that no bus
   sends are -EBADMSG, -EMSGSIZE or -EPROTONOSUPPORT; and -ENOBUFS is more than a program may leave unhandled. */
ssize_t inbox_read(struct inbox *inbox, int fd);
/* The same for bytes that are there. */
int inbox_feed(struct inbox *inbox, const uint8_t *data, size_t length);
/* Takes the first frame out, with its reference; NULL if there is none. */
struct frame *inbox_take(struct inbox *inbox);
/* Takes out the one that follows `*link`. */
struct frame *inbox_take_at(struct inbox *inbox, struct frame **link);

#endif
