/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_INBOX_H
#define TRIBUNE_INBOX_H

/*
 * Incoming bytes and frames.
 *
 * Memory grows with the received bytes, not with the announced length. The bus sends at most ROOM unhandled
 * notifications, and beyond these only will- and did-notifications for delegates. Above a limit, the inbox drops
 * notifications, and a frame of KIND_DROPPED takes their place and counts them.
 */

#include <sys/types.h>

#include "frame.h"

#define KIND_DROPPED 0u
/* The number of unhandled notifications that the bus may send. */
#define ROOM 1024u
/* The largest number of descriptors that wait for their frames. */
#define DESCRIPTORS_MAX 16u

struct frame {
  struct frame *next;
  unsigned refs;
  uint64_t sequence;
  struct header header;
  void *mapping; /* userInfo from a file; else NULL. */
  size_t mapping_length;
  bool is_unreadable; /* This process could not receive the file with userInfo. */
  uint64_t dropped;   /* The number of dropped notifications, for KIND_DROPPED. */
  uint8_t data[];     /* Fields, then zero-terminated name, object and payload. */
};

struct frame *frame_ref(struct frame *frame);
void frame_unref(struct frame *frame);
struct wire_reader frame_fields(const struct frame *frame);
const char *frame_name(const struct frame *frame);
const char *frame_object(const struct frame *frame);
const char *frame_payload(const struct frame *frame);
/* Returns the memory of the frame in bytes, for the inbox's limits. */
size_t frame_size(const struct frame *frame);

struct inbox {
  struct frame *first;
  struct frame **last;
  /* `size` has the bytes of all frames but notifications. The next two have the number and bytes of notifications. */
  size_t size;
  size_t notifications;
  size_t notifications_size;
  uint64_t sequence;
  uint8_t head[HEADER_LENGTH];
  size_t head_length;
  bool has_hello;
  struct hello hello;
  bool is_greeted;
  /* A partial frame, the number of bytes received behind its header, and the number of bytes that it has space for. */
  struct frame *partial;
  size_t filled;
  size_t capacity;
  /* The received descriptors. -1 stands for one that this process could not receive. */
  int descriptors[DESCRIPTORS_MAX + 1];
  size_t descriptor_count;
  uint8_t buffer[65536];
};

void inbox_begin(struct inbox *inbox);
void inbox_end(struct inbox *inbox);
/* Reads once. Returns the byte count; 0 at the end; -EAGAIN without data; -ENOBUFS above the inbox's limit; other
   errors for invalid data. */
ssize_t inbox_read(struct inbox *inbox, int fd);
int inbox_feed(struct inbox *inbox, const uint8_t *data, size_t length);
struct frame *inbox_take(struct inbox *inbox);
struct frame *inbox_take_at(struct inbox *inbox, struct frame **link);

#endif
