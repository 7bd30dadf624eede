/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_OUTBOX_H
#define TRIBUNE_OUTBOX_H

/*
 * Frames to write.
 *
 * A file goes with the first byte of its frame, and is then closed. Files in flight use memory of this process, so the
 * outbox limits them. No event follows when the bus receives a file, so the outbox tries again after a while.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outgoing;

struct outbox {
  struct outgoing *first;
  struct outgoing **last;
  size_t size; /* Bytes that wait, including those of files. */
  size_t offset;
  size_t passed;       /* Bytes of files in flight. */
  bool is_stuck;       /* The socket's buffer is full. */
  uint64_t retry_usec; /* The time to write again without an event; else 0. */
  bool is_over;        /* The bus no longer reads, so the outbox drops everything. */
};

void outbox_begin(struct outbox *outbox);
void outbox_end(struct outbox *outbox);
bool outbox_is_full(const struct outbox *outbox);
/* Adds a frame. Takes ownership of the bytes and the file (-1 for none), even after an error. */
int outbox_add(struct outbox *outbox, uint8_t *data, size_t length, int file, size_t file_length);
int outbox_write(struct outbox *outbox, int fd);

#endif
