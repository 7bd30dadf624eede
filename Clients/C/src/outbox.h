/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_OUTBOX_H
#define TRIBUNE_OUTBOX_H

/*
 * Frames to write.
 *
 * A file goes with its frame's first byte and is then closed. Files in flight use this process's memory, so they have
 * a limit; their receipt causes no event, so the outbox retries.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct outgoing;

struct outbox {
  struct outgoing *first;
  struct outgoing **last;
  size_t size; /* Waiting bytes, including files. */
  size_t offset;
  size_t passed;       /* Bytes of files in flight. */
  bool is_stuck;       /* The socket's buffer is full. */
  uint64_t retry_usec; /* When to retry without an event; else 0. */
  bool is_over;        /* The bus no longer reads: drop everything. */
};

void outbox_begin(struct outbox *outbox);
void outbox_end(struct outbox *outbox);
bool outbox_is_full(const struct outbox *outbox);
/* Takes ownership of the bytes and the file (-1 for none), even after an error. */
int outbox_add(struct outbox *outbox, uint8_t *data, size_t length, int file, size_t file_length);
int outbox_write(struct outbox *outbox, int fd);

#endif
