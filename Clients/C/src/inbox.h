/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_INBOX_H
#define TRIBUNE_INBOX_H

/*
 * Incoming bytes and frames.
 *
 * Announced lengths allocate no memory. The bus sends no more notifications than there is room for, but for a will or
 * did of a delegate. Above a limit, these are dropped, and a frame of KIND_DROPPED counts them in their place.
 */

#include <sys/types.h>

#include "frame.h"

#define KIND_DROPPED 0u
/* Notifications that may collect while a function waits. */
#define ROOM 1024u
/* Limit for descriptors of partial frames. */
#define DESCRIPTORS_MAX 16u

struct frame {
  struct frame *next;
  unsigned refs;
  uint64_t sequence;
  struct header header;
  void *mapping; /* userInfo from a file; else NULL. */
  size_t mapping_length;
  bool is_unreadable; /* This process could not receive the file with userInfo. */
  uint64_t dropped;   /* Dropped notifications, for KIND_DROPPED. */
  uint8_t data[];     /* Fields, then zero-terminated name, object and payload. */
};

struct frame *frame_ref(struct frame *frame);
void frame_unref(struct frame *frame);
struct wire_reader frame_fields(const struct frame *frame);
const char *frame_name(const struct frame *frame);
const char *frame_object(const struct frame *frame);
const char *frame_payload(const struct frame *frame);
/* Bytes of memory, for the inbox's limits. */
size_t frame_size(const struct frame *frame);

struct inbox {
  struct frame *first;
  struct frame **last;
  /* Bytes of other frames, and number and bytes of notifications. */
  size_t size;
  size_t notifications;
  size_t notifications_size;
  uint64_t sequence;
  uint8_t head[HEADER_LENGTH];
  size_t head_length;
  bool has_hello;
  struct hello hello;
  bool is_greeted;
  /* A partial frame, its bytes behind the header so far, and its capacity. */
  struct frame *partial;
  size_t filled;
  size_t capacity;
  /* -1 for one that this process could not receive. */
  int descriptors[DESCRIPTORS_MAX + 1];
  size_t descriptor_count;
  uint8_t buffer[65536];
};

void inbox_begin(struct inbox *inbox);
void inbox_end(struct inbox *inbox);
/* Returns the byte count; 0 at the end; -EAGAIN without data; -ENOBUFS above the inbox's limit; other errors for
   invalid data. */
ssize_t inbox_read(struct inbox *inbox, int fd);
int inbox_feed(struct inbox *inbox, const uint8_t *data, size_t length);
struct frame *inbox_take(struct inbox *inbox);
struct frame *inbox_take_at(struct inbox *inbox, struct frame **link);

#endif
