/* SPDX-License-Identifier: Apache-2.0
 *
 * One blocking connection, and the frames that come in on it. What goes through the relay has a
 * frame's layout too, so that both servers' messages are read by the same code.
 */
#pragma once

#include "CBusDriver.h"

#include <string.h>
#include <time.h>

enum { FRAME_HEADER = 32, FRAME_NAME_MAX = 255, PEER_BUFFER = 1024 * 1024 };

enum frame_kind {
	frame_error = 2,
	frame_ok = 3,
	frame_post = 4,
	frame_lost = 5,
	frame_observe = 6,
	frame_attach = 7,
	frame_ask = 8,
	frame_question = 9,
	frame_answer = 10,
	frame_verdict = 13,
	frame_concluded = 14,
	frame_welcome = 1,
};

/* Offsets in a frame's header. */
enum { AT_LENGTH = 0, AT_KIND = 4, AT_NAME = 6, AT_OBJECT = 7, AT_SENDER = 8, AT_SERIAL = 16, AT_FIELDS = 24 };

struct peer {
	int fd;
	struct driver_failure *failure;
	/* What was received and not yet handed out lies in start..<end. */
	size_t start, end;
	uint8_t bytes[PEER_BUFFER];
};

/* A frame under construction, or one to send again and again. */
struct message {
	size_t length;
	uint8_t bytes[512];
};

#define LOAD(type, at) ({ type loaded_; memcpy(&loaded_, (at), sizeof loaded_); loaded_; })
#define STORE(type, at, value) ({ type stored_ = (type)(value); memcpy((at), &stored_, sizeof stored_); })

static inline uint64_t now_nanoseconds(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Keeps the first failure. Always returns false. */
bool fail(struct driver_failure *failure, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Connects, and waits for a server that is only starting. For the bus it goes on until the welcome.
 * NULL on failure. */
struct peer *peer_connect(enum driver_server server, const char *path, struct driver_failure *failure);
void peer_close(struct peer *peer);
/* Makes whoever waits on the connection give up. */
void peer_interrupt(struct peer *peer);

bool peer_send(struct peer *peer, const uint8_t *bytes, size_t length);
/* The next whole frame, valid until the next call; NULL on failure. */
const uint8_t *peer_next(struct peer *peer);
/* The next frame must be of this kind; NULL on failure. */
const uint8_t *peer_expect(struct peer *peer, enum frame_kind kind);
/* Says that this frame should not have come. Always returns false. */
bool peer_refuse(struct peer *peer, const uint8_t *frame, const char *expected);

/* Starts a frame that has these parts behind its header. */
void message_make(struct message *message, enum frame_kind kind, const void *fields, size_t fields_length,
                  const char *name, const char *object, size_t payload_length);
