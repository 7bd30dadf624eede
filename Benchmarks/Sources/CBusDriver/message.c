/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "message.h"
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void message_begin(struct message *message)
{
	*message = (struct message){ .file = -1 };
}

void message_free(struct message *message)
{
	free(message->bytes);
	if (message->file != -1)
		close(message->file);
	message_begin(message);
}

/* Appends so many bytes, and returns where they begin; NULL if memory is short. */
static uint8_t *extend(struct message *message, size_t length)
{
	if (message->is_short)
		return NULL;
	if (message->capacity - message->length < length) {
		size_t capacity = 2 * message->capacity + length;
		uint8_t *bytes = realloc(message->bytes, capacity);
		if (!bytes) {
			message->is_short = true;
			return NULL;
		}
		message->bytes = bytes;
		message->capacity = capacity;
	}
	message->length += length;
	return message->bytes + message->length - length;
}

void message_add(struct message *message, const void *bytes, size_t length)
{
	uint8_t *at = extend(message, length);
	if (at && length)
		memcpy(at, bytes, length);
}

void message_print(struct message *message, const char *format, ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (length < 0 || (size_t)length >= sizeof text)
		message->is_short = true;
	else
		message_add(message, text, (size_t)length);
}

void message_add_payload(struct message *message, size_t length)
{
	uint8_t *at = extend(message, length);
	if (!at)
		return;
	message->payload_at = message->number_at = message->length - length;
	message->payload_length = length;
	for (size_t i = 0; i < length; i++)
		at[i] = payload_byte(i);
}

bool message_attach_payload(struct message *message, size_t length, struct driver_failure *failure)
{
	message->file = memfd_create("bench", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (message->file == -1 || ftruncate(message->file, (off_t)length) == -1)
		return fail(failure, "a file in memory of %zu bytes: %s", length, strerror(errno));
	uint8_t page[PAGE];
	for (size_t begin = 0; begin < length; begin += PAGE) {
		size_t part = length - begin < PAGE ? length - begin : PAGE;
		for (size_t i = 0; i < part; i++)
			page[i] = payload_byte(begin + i);
		if (pwrite(message->file, page, part, (off_t)begin) != (ssize_t)part)
			return fail(failure, "a file in memory of %zu bytes: %s", length, strerror(errno));
	}
	if (fcntl(message->file, F_ADD_SEALS, FILE_SEALS) == -1)
		return fail(failure, "a file in memory cannot be sealed: %s", strerror(errno));
	return true;
}

bool message_is_made(const struct message *message, struct driver_failure *failure)
{
	return message->is_short ? fail(failure, "out of memory for a message") : true;
}

bool payload_is_whole(const uint8_t *payload, size_t length, size_t begin)
{
	uint8_t expected = payload_byte(begin);
	for (size_t i = begin; i < length; i++) {
		if (payload[i] != expected)
			return false;
		expected = expected == payload_byte(PAYLOAD_PERIOD - 1) ? 0 : expected + 1;
	}
	return true;
}

bool payload_pages_are_whole(const uint8_t *payload, size_t length, size_t begin)
{
	for (size_t i = begin; i < length; i += PAGE)
		if (payload[i] != payload_byte(i))
			return false;
	return length <= begin || payload[length - 1] == payload_byte(length - 1);
}
