/* SPDX-License-Identifier: Apache-2.0
 *
 * ZMTP 3.0, to the sockets of zmq-proxy. A post has two frames, its name and its payload. A request passes from a REQ
 * through ROUTER and DEALER to a REP, with the requester's identity before it, which the answer must have.
 */
#include "protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MORE = 1, LONG = 2, COMMAND = 4 };
enum { GREETING = 64, SHORT_HEADER = 2, LONG_HEADER = 9, FRAMES_MAX = 3, IDENTITY = 5 };

static void add_header(struct message *message, uint8_t flags, size_t length)
{
	uint8_t header[LONG_HEADER] = { flags, (uint8_t)length };
	if (length > UINT8_MAX) {
		header[0] |= LONG;
		for (int i = 0; i < 8; i++)
			header[1 + i] = (uint8_t)(length >> (56 - 8 * i));
	}
	message_add(message, header, length > UINT8_MAX ? LONG_HEADER : SHORT_HEADER);
}

static void add_frame(struct message *message, uint8_t flags, const void *bytes, size_t length)
{
	add_header(message, flags, length);
	message_add(message, bytes, length);
}

static bool send_message(struct peer *peer, struct message *message)
{
	bool done = message_is_made(message, peer->failure) && peer_send(peer, message->bytes, message->length);
	message_free(message);
	return done;
}

/* Sends greeting and READY, and receives the same. */
static bool shake_hands(struct peer *peer, const char *type)
{
	static const uint8_t greeting[GREETING] = { 0xFF, [9] = 0x7F, 3, 0, 'N', 'U', 'L', 'L' };
	char ready[32];
	int length = snprintf(ready, sizeof ready, "\5READY\13Socket-Type%c%c%c%c%s", 0, 0, 0, (int)strlen(type), type);
	struct message message;
	message_begin(&message);
	message_add(&message, greeting, GREETING);
	add_frame(&message, COMMAND, ready, (size_t)length);
	uint8_t theirs[GREETING + SHORT_HEADER + UINT8_MAX];
	return send_message(peer, &message)
	    && ((driver_receive(peer->fd, theirs, GREETING + SHORT_HEADER) && theirs[GREETING] == COMMAND
	         && driver_receive(peer->fd, theirs + GREETING + SHORT_HEADER, theirs[GREETING + 1]))
	        || fail(peer->failure, "the proxy is not ready"));
}

/* Connects to the socket with this suffix instead, as a socket of this type. */
static bool join(struct peer *peer, const char *suffix, const char *type)
{
	struct sockaddr_un address = { 0 };
	socklen_t length = sizeof address;
	char path[sizeof address.sun_path + 8];
	if (getpeername(peer->fd, (struct sockaddr *)&address, &length) != 0)
		return fail(peer->failure, "the proxy closed the connection");
	snprintf(path, sizeof path, "%s%s", address.sun_path, suffix);
	close(peer->fd);
	peer->fd = driver_connect(path, peer->failure);
	return peer->fd != -1 && shake_hands(peer, type);
}

static enum taken take(struct peer *peer, struct incoming *incoming)
{
	const uint8_t *begin = peer->bytes + peer->start, *at = begin, *end = peer->bytes + peer->end;
	struct { const uint8_t *at; size_t length; } frames[FRAMES_MAX];
	size_t count = 0;
	for (uint8_t flags = MORE; flags & MORE; count++) {
		if (count == FRAMES_MAX) {
			fail(peer->failure, "a message of more than %d frames came", FRAMES_MAX);
			return taken_failure;
		}
		size_t there = (size_t)(end - at);
		if (there < SHORT_HEADER || (at[0] & LONG && there < LONG_HEADER))
			return taken_partial;
		flags = at[0];
		size_t header = flags & LONG ? LONG_HEADER : SHORT_HEADER, length = 0;
		for (size_t i = 1; i < header; i++)
			length = length << 8 | at[i];
		if (there - header < length) {
			peer->wanted = (size_t)(at - begin) + header + length;
			return taken_partial;
		}
		frames[count].at = at + header;
		frames[count].length = length;
		at += header + length;
	}
	incoming->bytes = begin;
	incoming->length = (size_t)(at - begin);
	peer->start += incoming->length;
	/* A subscription, of which the proxy tells posters. */
	if (count == 1)
		return taken_message;
	incoming->kind = incoming_post;
	incoming->name = frames[0].at;
	incoming->name_length = frames[0].length;
	incoming->payload = frames[count - 1].at;
	incoming->payload_length = frames[count - 1].length;
	if (incoming->payload_length < PAYLOAD_HEAD) {
		fail(peer->failure, "a payload of %zu bytes came", incoming->payload_length);
		return taken_failure;
	}
	incoming->number_at = (size_t)(incoming->payload - begin);
	incoming->number = LOAD(uint64_t, incoming->payload);
	incoming->return_address = count == FRAMES_MAX ? incoming->name : NULL;
	incoming->return_address_length = count == FRAMES_MAX ? incoming->name_length : 0;
	return taken_message;
}

static bool prepare_poster(struct peer *peer)
{
	return join(peer, "", "PUB");
}

/* A PUB that is told of this subscription; it was told of earlier ones before. */
static bool await_subscription(struct peer *observer, const char *path, const char *subscription)
{
	struct peer *poster = peer_connect(&zmq_protocol, path, PEER_BUFFER_SPARE, false, observer->failure);
	bool done = poster && prepare_poster(poster);
	for (bool is_there = false; done && !is_there;) {
		struct incoming incoming;
		enum taken taken = peer_take(poster, &incoming);
		if (taken == taken_message)
			is_there = incoming.length == SHORT_HEADER + strlen(subscription)
			        && memcmp(incoming.bytes + SHORT_HEADER, subscription, strlen(subscription)) == 0;
		else
			done = taken == taken_partial && peer_fill(poster);
	}
	peer_close(poster);
	return done;
}

/* Nothing confirms a subscription, so the last is one that a poster recognizes. */
static bool observe(struct peer *peer, const char *const *names, size_t count)
{
	static uint64_t last;
	char mark[40];
	snprintf(mark, sizeof mark, "\1mark.%llu",
	         (unsigned long long)__atomic_add_fetch(&last, 1, __ATOMIC_RELAXED));
	struct sockaddr_un address = { 0 };
	socklen_t length = sizeof address;
	if (getpeername(peer->fd, (struct sockaddr *)&address, &length) != 0)
		return fail(peer->failure, "the proxy closed the connection");
	struct message message;
	message_begin(&message);
	for (size_t i = 0; i < count; i++) {
		add_header(&message, 0, 1 + strlen(names[i]));
		message_print(&message, "\1%s", names[i]);
	}
	add_frame(&message, 0, mark, strlen(mark));
	if (!join(peer, ".sub", "SUB")) {
		message_free(&message);
		return false;
	}
	return send_message(peer, &message) && await_subscription(peer, address.sun_path, mark);
}

static bool make_post(struct message *message, const char *name, size_t payload, struct driver_failure *failure)
{
	message_begin(message);
	add_frame(message, MORE, name, strlen(name));
	add_header(message, 0, payload);
	message_add_payload(message, payload);
	return message_is_made(message, failure);
}

static bool prepare_requester(struct peer *peer)
{
	return join(peer, ".req", "REQ");
}

static bool prepare_responder(struct peer *peer, size_t delegates)
{
	(void)delegates;
	return join(peer, ".rep", "REP");
}

static bool make_request(struct message *message, struct driver_failure *failure)
{
	return make_post(message, "", driver_round_trip_bytes, failure);
}

/* The proxy's identities have five bytes. */
static bool make_answer(struct message *message, struct driver_failure *failure)
{
	static const uint8_t identity[IDENTITY];
	message_begin(message);
	add_frame(message, MORE, identity, IDENTITY);
	add_header(message, MORE, 0);
	add_header(message, 0, driver_round_trip_bytes);
	message_add_payload(message, driver_round_trip_bytes);
	return message_is_made(message, failure);
}

static bool address_answer(struct peer *peer, struct message *answer, const struct incoming *request)
{
	if (request->return_address_length != IDENTITY)
		return fail(peer->failure, "a request came without an identity of %d bytes", IDENTITY);
	memcpy(answer->bytes + SHORT_HEADER, request->return_address, IDENTITY);
	return true;
}

const struct protocol zmq_protocol = {
	.take = take,
	.prepare_poster = prepare_poster,
	.observe = observe,
	.make_post = make_post,
	.payload_max = 256 * 1024 * 1024,
	.prepare_requester = prepare_requester,
	.prepare_responder = prepare_responder,
	.request_kind = incoming_post,
	.answer_kind = incoming_post,
	.make_request = make_request,
	.make_answer = make_answer,
	.address_answer = address_answer,
};
