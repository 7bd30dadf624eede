/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "peer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { HELLO = 16 };

/* A server that says nothing for so long has lost something. */
static const struct timeval silence_limit = { .tv_sec = 10 };

bool fail(struct driver_failure *failure, const char *format, ...)
{
	if (!__atomic_exchange_n(&failure->taken, 1, __ATOMIC_RELAXED)) {
		va_list arguments;
		va_start(arguments, format);
		vsnprintf(failure->text, sizeof failure->text, format, arguments);
		va_end(arguments);
	}
	return false;
}

/* Receives once more behind what is there. */
static bool fill(struct peer *peer)
{
	size_t unread = peer->end - peer->start;
	memmove(peer->bytes, peer->bytes + peer->start, unread);
	peer->start = 0;
	peer->end = unread;
	ssize_t count = recv(peer->fd, peer->bytes + unread, sizeof peer->bytes - unread, 0);
	if (count == 0)
		return fail(peer->failure, "the server closed the connection");
	if (count == -1)
		return fail(peer->failure, "%s", errno == EAGAIN ? "nothing came for 10 s" : strerror(errno));
	peer->end += (size_t)count;
	return true;
}

static bool greet(struct peer *peer)
{
	static const uint8_t hello[HELLO] = { 0xF1, 'T', 'R', 'I', 'B', 'U', 'N', 'E', 1, 0, 1, 0 };
	if (!peer_send(peer, hello, sizeof hello))
		return false;
	while (peer->end - peer->start < sizeof hello)
		if (!fill(peer))
			return false;
	if (memcmp(peer->bytes + peer->start, hello, 10) != 0)
		return fail(peer->failure, "the server's hello is not that of version 1");
	peer->start += sizeof hello;
	return peer_expect(peer, frame_welcome) != NULL;
}

static bool connect_waiting(int fd, const char *path, struct driver_failure *failure)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof address.sun_path)
		return fail(failure, "the path is too long for a socket: %s", path);
	strcpy(address.sun_path, path);
	uint64_t deadline = now_nanoseconds() + (uint64_t)silence_limit.tv_sec * 1000000000u;
	while (connect(fd, (struct sockaddr *)&address, sizeof address) == -1) {
		if ((errno != ENOENT && errno != ECONNREFUSED) || now_nanoseconds() > deadline)
			return fail(failure, "%s: %s", path, strerror(errno));
		usleep(2000);
	}
	return true;
}

int driver_connect(const char *path, struct driver_failure *failure)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1) {
		fail(failure, "socket: %s", strerror(errno));
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence_limit, sizeof silence_limit);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &silence_limit, sizeof silence_limit);
	if (!connect_waiting(fd, path, failure)) {
		close(fd);
		return -1;
	}
	return fd;
}

bool driver_send(int fd, const void *bytes, size_t length)
{
	return send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

bool driver_receive(int fd, void *bytes, size_t length)
{
	return recv(fd, bytes, length, MSG_WAITALL) == (ssize_t)length;
}

uint64_t driver_nanoseconds(void)
{
	return now_nanoseconds();
}

struct peer *peer_connect(enum driver_server server, const char *path, struct driver_failure *failure)
{
	struct peer *peer = malloc(sizeof *peer);
	if (!peer) {
		fail(failure, "out of memory");
		return NULL;
	}
	peer->failure = failure;
	peer->start = peer->end = 0;
	peer->fd = driver_connect(path, failure);
	if (peer->fd == -1) {
		free(peer);
		return NULL;
	}
	if (server == driver_tribune && !greet(peer)) {
		peer_close(peer);
		return NULL;
	}
	return peer;
}

void peer_close(struct peer *peer)
{
	if (!peer)
		return;
	close(peer->fd);
	free(peer);
}

void peer_interrupt(struct peer *peer)
{
	shutdown(peer->fd, SHUT_RDWR);
}

bool peer_send(struct peer *peer, const uint8_t *bytes, size_t length)
{
	while (length > 0) {
		ssize_t count = send(peer->fd, bytes, length, MSG_NOSIGNAL);
		if (count == -1)
			return fail(peer->failure, "%s", errno == EAGAIN ? "nothing was taken for 10 s" : strerror(errno));
		bytes += count;
		length -= (size_t)count;
	}
	return true;
}

const uint8_t *peer_next(struct peer *peer)
{
	for (;;) {
		size_t unread = peer->end - peer->start;
		if (unread >= FRAME_HEADER) {
			const uint8_t *frame = peer->bytes + peer->start;
			size_t length = LOAD(uint32_t, frame + AT_LENGTH);
			if (length < FRAME_HEADER || length > sizeof peer->bytes) {
				fail(peer->failure, "a frame of %zu bytes came", length);
				return NULL;
			}
			if (unread >= length) {
				peer->start += length;
				return frame;
			}
		}
		if (!fill(peer))
			return NULL;
	}
}

const uint8_t *peer_expect(struct peer *peer, enum frame_kind kind)
{
	const uint8_t *frame = peer_next(peer);
	if (frame && frame[AT_KIND] != kind) {
		char expected[32];
		snprintf(expected, sizeof expected, "a frame of kind %d", kind);
		peer_refuse(peer, frame, expected);
		return NULL;
	}
	return frame;
}

bool peer_refuse(struct peer *peer, const uint8_t *frame, const char *expected)
{
	size_t length = LOAD(uint32_t, frame + AT_LENGTH);
	size_t payload = FRAME_HEADER + LOAD(uint32_t, frame + AT_FIELDS) + frame[AT_NAME] + frame[AT_OBJECT];
	if (frame[AT_KIND] == frame_error && payload <= length)
		return fail(peer->failure, "expected %s, but the server refused: %.*s", expected,
		            (int)(length - payload), (const char *)frame + payload);
	if (frame[AT_KIND] == frame_lost)
		return fail(peer->failure, "the server dropped %llu notifications",
		            (unsigned long long)LOAD(uint64_t, frame + FRAME_HEADER));
	return fail(peer->failure, "expected %s, but a frame of kind %d came", expected, frame[AT_KIND]);
}

void message_make(struct message *message, enum frame_kind kind, const void *fields, size_t fields_length,
                  const char *name, const char *object, size_t payload_length)
{
	size_t name_length = strlen(name), object_length = strlen(object);
	uint8_t *bytes = message->bytes;
	memset(bytes, 0, sizeof message->bytes);
	message->length = FRAME_HEADER + fields_length + name_length + object_length + payload_length;
	STORE(uint32_t, bytes + AT_LENGTH, message->length);
	bytes[AT_KIND] = (uint8_t)kind;
	bytes[AT_NAME] = (uint8_t)name_length;
	bytes[AT_OBJECT] = (uint8_t)object_length;
	STORE(uint64_t, bytes + AT_SERIAL, 1);
	STORE(uint32_t, bytes + AT_FIELDS, fields_length);
	bytes += FRAME_HEADER;
	memcpy(bytes, fields, fields_length);
	memcpy(bytes + fields_length, name, name_length);
	memcpy(bytes + fields_length + name_length, object, object_length);
	memset(bytes + fields_length + name_length + object_length, 'x', payload_length);
}
