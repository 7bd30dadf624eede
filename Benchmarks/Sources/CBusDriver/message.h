/* SPDX-License-Identifier: Apache-2.0
 *
 * A message as bytes. It is made once and sent many times; only its number changes.
 */
#pragma once

#include "CBusDriver.h"

#include <string.h>

enum {
	/* The first bytes of a payload, which change: its number, and what a workload adds. */
	PAYLOAD_HEAD = 16,
	PAYLOAD_PERIOD = 251,
	PAGE = 4096,
};

struct message {
	uint8_t *bytes;
	size_t length, capacity;
	/* Where the payload lies; empty if it lies in a file. */
	size_t payload_at, payload_length;
	/* Offset of the number, which has 8 bytes. */
	size_t number_at;
	/* Offset and length of the protocol's own number of each message; 0 bytes for none. */
	size_t serial_at, serial_bytes;
	/* The file with the payload, which is sent along; -1 for none. */
	int file;
	/* Whether memory was short. */
	bool is_short;
};

#define LOAD(type, at) ({ type loaded_; memcpy(&loaded_, (at), sizeof loaded_); loaded_; })
#define STORE(type, at, value) ({ type stored_ = (type)(value); memcpy((at), &stored_, sizeof stored_); })

/* The byte at an offset in every payload, behind its head. A page's length is no multiple of the period, so each page
 * differs from the next. */
static inline uint8_t payload_byte(size_t offset)
{
	return (uint8_t)(offset % PAYLOAD_PERIOD);
}

/* Makes the message empty, without freeing anything. */
void message_begin(struct message *message);
void message_free(struct message *message);
void message_add(struct message *message, const void *bytes, size_t length);
void message_print(struct message *message, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a payload that begins with its number. */
void message_add_payload(struct message *message, size_t length);
/* Puts such a payload into a sealed file in memory. */
bool message_attach_payload(struct message *message, size_t length, struct driver_failure *failure);
/* Whether there was memory for everything that was added. */
bool message_is_made(const struct message *message, struct driver_failure *failure);

/* Numbers the message, or its copy at `bytes`. */
static inline void message_number(const struct message *message, uint8_t *bytes, uint64_t number)
{
	STORE(uint64_t, bytes + message->number_at, number);
	if (message->serial_bytes == 8)
		STORE(uint64_t, bytes + message->serial_at, number);
	else if (message->serial_bytes == 4)
		STORE(uint32_t, bytes + message->serial_at, number);
}

/* Whether a payload is unchanged from an offset on: all of it, or one byte in each of its pages. */
bool payload_is_whole(const uint8_t *payload, size_t length, size_t begin);
bool payload_pages_are_whole(const uint8_t *payload, size_t length, size_t begin);
