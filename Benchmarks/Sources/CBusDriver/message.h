/* SPDX-License-Identifier: Apache-2.0
 *
 * A message as the bytes that are sent, made once and sent again and again: all that changes is its number.
 */
#pragma once

#include "CBusDriver.h"

#include <string.h>

enum {
	/* Bytes at a payload's beginning that are not as they were made: its number, and what a workload adds. */
	PAYLOAD_HEAD = 16,
	PAYLOAD_PERIOD = 251,
	PAGE = 4096,
};

struct message {
	uint8_t *bytes;
	size_t length, capacity;
	/* Where the payload lies; it is empty when a file holds it. */
	size_t payload_at, payload_length;
	/* Where the number is, in 8 bytes. */
	size_t number_at;
	/* Where the protocol has a number of its own for each message, of so many bytes; 0 for none. */
	size_t serial_at, serial_bytes;
	/* Holds the payload instead, and is sent along; -1 for none. */
	int file;
	/* There was not enough memory. */
	bool is_short;
};

#define LOAD(type, at) ({ type loaded_; memcpy(&loaded_, (at), sizeof loaded_); loaded_; })
#define STORE(type, at, value) ({ type stored_ = (type)(value); memcpy((at), &stored_, sizeof stored_); })

/* The byte at an offset in every payload, but for its head. Pages are no multiple of its period, so that no page is
 * like the next. */
static inline uint8_t payload_byte(size_t offset)
{
	return (uint8_t)(offset % PAYLOAD_PERIOD);
}

/* Makes the message empty. What it held before must have been freed, or never have been. */
void message_begin(struct message *message);
void message_free(struct message *message);
void message_add(struct message *message, const void *bytes, size_t length);
void message_print(struct message *message, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a payload that has its number at its beginning. */
void message_add_payload(struct message *message, size_t length);
/* Puts such a payload into a sealed file in memory. */
bool message_attach_payload(struct message *message, size_t length, struct driver_failure *failure);
/* Whether all that was added is there. */
bool message_is_made(const struct message *message, struct driver_failure *failure);

/* Numbers the message, or a copy of it that lies at `bytes`. */
static inline void message_number(const struct message *message, uint8_t *bytes, uint64_t number)
{
	STORE(uint64_t, bytes + message->number_at, number);
	if (message->serial_bytes == 8)
		STORE(uint64_t, bytes + message->serial_at, number);
	else if (message->serial_bytes == 4)
		STORE(uint32_t, bytes + message->serial_at, number);
}

/* Whether a payload is as it was made, from so many bytes on: all of it, or a byte in each of its pages. */
bool payload_is_whole(const uint8_t *payload, size_t length, size_t begin);
bool payload_pages_are_whole(const uint8_t *payload, size_t length, size_t begin);
