/* SPDX-License-Identifier: Apache-2.0
 *
 * One connection, and the messages that come in on it. Sends and receives block, for 10 seconds at most.
 */
#pragma once

#include "CBusDriver.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

#define FILE_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

enum {
	PEER_BUFFER = 1024 * 1024,
	/* What is behind a message that does not fit the buffer above. */
	PEER_BUFFER_SPARE = 64 * 1024,
	/* Files that came and whose messages were not taken. */
	PEER_FILES_MAX = 64,
	/* A server that says nothing for so long has lost something. */
	SILENCE_SECONDS = 10,
};

enum taken { taken_message, taken_partial, taken_failure };
enum incoming_kind {
	/* What was posted, published or signalled. */
	incoming_post,
	/* A question that wants an answer. */
	incoming_call,
	/* What came of something that was sent on this connection. */
	incoming_reply,
	/* A question that was answered is over. */
	incoming_conclusion,
	/* Nothing to anybody here. */
	incoming_nothing,
};

struct incoming;
struct protocol;

struct peer {
	int fd;
	const struct protocol *protocol;
	struct driver_failure *failure;
	/* What was received and not yet taken lies in start..<end. */
	size_t start, end, capacity;
	uint8_t *bytes;
	/* Bytes of the message at `start`, as far as they can be told; 0 when they cannot. */
	size_t wanted;
	/* Whether files come along. They are in the order in which they came, and are closed when the message behind
	 * theirs is taken. */
	bool takes_files;
	int files[PEER_FILES_MAX];
	size_t file_count, files_taken;
	/* The last number of those that a protocol gives what it sends by itself. */
	uint32_t serial;
};

static inline uint64_t now_nanoseconds(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Keeps the first failure. Always returns false. */
bool fail(struct driver_failure *failure, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline bool has_failed(const struct driver_failure *failure)
{
	return __atomic_load_n(&failure->taken, __ATOMIC_RELAXED) != 0;
}

/* Connects, waits for a server that is only starting, and greets it. `capacity` bytes are room for a message and
 * some more. NULL on failure. */
struct peer *peer_connect(const struct protocol *protocol, const char *address, size_t capacity, bool takes_files,
                          struct driver_failure *failure);
void peer_close(struct peer *peer);
/* Makes whoever waits on the connection give up. */
void peer_interrupt(struct peer *peer);

bool peer_send(struct peer *peer, const uint8_t *bytes, size_t length);
/* Likewise, with a file if it is not -1. */
bool peer_send_with_file(struct peer *peer, const uint8_t *bytes, size_t length, int file);
/* Receives once, behind what is there. */
bool peer_fill(struct peer *peer);
/* Likewise, but does not wait. False when nothing came, or on failure. */
bool peer_fill_now(struct peer *peer);
/* Takes the next whole message out of what is there, if there is one. */
enum taken peer_take(struct peer *peer, struct incoming *incoming);
/* The next whole message, or the next of this kind, before which none of another may come but what is nothing to
 * anybody. */
bool peer_next(struct peer *peer, struct incoming *incoming);
bool peer_expect(struct peer *peer, struct incoming *incoming, enum incoming_kind kind, const char *expected);
/* Takes what the server has said to somebody who only posts, which must be nothing to anybody. Does not wait. */
bool peer_drain(struct peer *peer);
/* Says that this message should not have come. Always returns false. */
bool peer_refuse(struct peer *peer, const struct incoming *incoming, const char *expected);
/* The file that the message which is being taken came with; -1 when none did. */
int peer_take_file(struct peer *peer);
