/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_OUTBOX_H
#define TRIBUNE_OUTBOX_H

/*
 * Frames that wait to be written.
 *
 * A frame may have a file, which goes with its first byte and is closed then. What is passed and not received by the
 * bus stays this process's memory, so there is a bound on it; no descriptor says when the bus has received, so the
 * outbox asks again after a while.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outgoing;

struct outbox {
  struct outgoing *first;
  struct outgoing **last;
  size_t size;         /* Bytes that wait, with those of files. */
  size_t offset;       /* Bytes of the first frame that are written. */
  size_t passed;       /* Bytes of files that the bus may not have received. */
  bool is_stuck;       /* The socket takes no more bytes at the moment. */
  uint64_t retry_usec; /* When to try again, if no descriptor tells; else 0. */
  bool is_over;        /* The bus does not read any more: what is sent is dropped. */
};

void outbox_begin(struct outbox *outbox);
/* Drops everything. */
void outbox_end(struct outbox *outbox);
/* Whether no more requests should be added. */
bool outbox_is_full(const struct outbox *outbox);
/* Takes over the bytes, which were allocated, and the file, -1 for none, whether or not it succeeds. */
int outbox_add(struct outbox *outbox, uint8_t *data, size_t length, int file, size_t file_length);
/* Writes what the kernel takes now. A peer that has closed the socket is no error. */
int outbox_write(struct outbox *outbox, int fd);

#endif
