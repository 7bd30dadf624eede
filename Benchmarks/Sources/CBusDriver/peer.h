/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection, and the messages that it receives. Sends and receives block for 10 seconds at most.
 */
#pragma once

#include "CBusDriver.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

#define FILE_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

enum {
	PEER_BUFFER = 1024 * 1024,
	/* Bytes beyond a message that does not fit the buffer above. */
	PEER_BUFFER_SPARE = 64 * 1024,
	/* The most files whose messages have not been taken yet. */
	PEER_FILES_MAX = 64,
	/* If a server sends nothing for so long, something was lost. */
	SILENCE_SECONDS = 10,
};

enum taken { taken_message, taken_partial, taken_failure };
enum incoming_kind {
	/* A post, publication or signal. */
	incoming_post,
	/* A question. */
	incoming_call,
	/* The reply to something that was sent on this connection. */
	incoming_reply,
	/* How a question ended that was answered here. */
	incoming_conclusion,
	/* Something that the workloads ignore. */
	incoming_nothing,
};

struct incoming;
struct protocol;

struct peer {
	int fd;
	const struct protocol *protocol;
	struct driver_failure *failure;
	/* The bytes in start..<end have been received, and not been taken. */
	size_t start, end, capacity;
	uint8_t *bytes;
	/* Length of the message at `start`; 0 if it is not known yet. */
	size_t wanted;
	/* Whether it receives files. They are in order of arrival, and are closed when the next message is taken. */
	bool takes_files;
	int files[PEER_FILES_MAX];
	size_t file_count, files_taken;
	/* The last serial that the protocol gave to a message of its own. */
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

/* Connects, waits for a server that is still starting, and greets it. The buffer has `capacity` bytes, more than any
 * message. NULL on failure. */
struct peer *peer_connect(const struct protocol *protocol, const char *address, size_t capacity, bool takes_files,
                          struct driver_failure *failure);
void peer_close(struct peer *peer);
/* Ends the connection, so that no thread waits on it any more. */
void peer_interrupt(struct peer *peer);

bool peer_send(struct peer *peer, const uint8_t *bytes, size_t length);
/* Sends with a file, unless that is -1. */
bool peer_send_with_file(struct peer *peer, const uint8_t *bytes, size_t length, int file);
/* Receives once, and appends to the buffer. */
bool peer_fill(struct peer *peer);
/* Does so without waiting. False if nothing came, or on failure. */
bool peer_fill_now(struct peer *peer);
/* Takes the next whole message out of the buffer, if there is one. */
enum taken peer_take(struct peer *peer, struct incoming *incoming);
/* Receives the next message that the workloads do not ignore. `peer_expect` fails if it is not of this kind. */
bool peer_next(struct peer *peer, struct incoming *incoming);
bool peer_expect(struct peer *peer, struct incoming *incoming, enum incoming_kind kind, const char *expected);
/* Takes what the server has sent to a client that only posts: nothing but what the workloads ignore. Does not wait. */
bool peer_drain(struct peer *peer);
/* Reports a message that should not have come. Always returns false. */
bool peer_refuse(struct peer *peer, const struct incoming *incoming, const char *expected);
/* The file that came with the message that is being taken; -1 if there is none. */
int peer_take_file(struct peer *peer);
