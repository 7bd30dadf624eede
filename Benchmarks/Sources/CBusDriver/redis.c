/* SPDX-License-Identifier: Apache-2.0
 *
 * Redis's RESP3. After HELLO 3, a connection can publish and subscribe. Publishers get no replies (CLIENT REPLY OFF),
 * which would only count receivers: without them, a round trip takes a quarter less.
 */
#include "protocol.h"

#include <stdlib.h>

static const char request_channel[] = "bench.shouldRun";
static const char answer_channel[] = "bench.didRun";

/* The received bytes that are still to be read. */
struct reader {
	const uint8_t *at, *end;
};

/* Reads a type, a number and the line's end. */
static enum taken read_header(struct reader *reader, char *type, long *number)
{
	const uint8_t *end = reader->at == reader->end ? NULL
	                     : memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
	if (!end)
		return taken_partial;
	*type = (char)*reader->at;
	long value = 0;
	bool is_negative = reader->at[1] == '-';
	const uint8_t *digit = reader->at + 1 + is_negative;
	for (; digit < end && *digit >= '0' && *digit <= '9'; digit++)
		value = value > UINT32_MAX ? value : 10 * value + (*digit - '0');
	*number = is_negative ? -value : value;
	reader->at = end + 1;
	return taken_message;
}

/* Reads a string that has its length before it. */
static enum taken read_bulk(struct reader *reader, const uint8_t **bytes, size_t *length)
{
	char type;
	long number;
	enum taken taken = read_header(reader, &type, &number);
	if (taken != taken_message)
		return taken;
	if (type != '$' || number < 0)
		return taken_failure;
	*bytes = reader->at;
	*length = (size_t)number;
	if ((size_t)(reader->end - reader->at) < *length + 2) {
		reader->at += *length + 2;
		return taken_partial;
	}
	reader->at += *length + 2;
	return taken_message;
}

/* Skips the next value, with all that it contains. */
static enum taken skip(struct reader *reader)
{
	char type;
	long number;
	enum taken taken = read_header(reader, &type, &number);
	if (taken != taken_message)
		return taken;
	switch (type) {
	case '+': case '-': case ':': case '_': case '#': case ',':
		return taken_message;
	case '$': case '=':
		if (number >= 0 && reader->end - reader->at < number + 2)
			return taken_partial;
		reader->at += number >= 0 ? number + 2 : 0;
		return taken_message;
	case '*': case '>': case '~': case '%':
		for (long i = 0; i < (type == '%' ? 2 * number : number); i++)
			if ((taken = skip(reader)) != taken_message)
				return taken;
		return taken_message;
	default:
		return taken_failure;
	}
}

/* `>3`, "message", the channel, the payload. */
static enum taken read_message(struct reader *reader, struct incoming *incoming)
{
	static const char opening[] = ">3\r\n$7\r\nmessage\r\n";
	enum { OPENING = sizeof opening - 1 };
	if ((size_t)(reader->end - reader->at) < OPENING || memcmp(reader->at, opening, OPENING) != 0)
		return taken_failure;
	reader->at += OPENING;
	enum taken taken = read_bulk(reader, &incoming->name, &incoming->name_length);
	return taken == taken_message ? read_bulk(reader, &incoming->payload, &incoming->payload_length) : taken;
}

static enum taken take_reply(struct peer *peer, struct reader *reader, struct incoming *incoming)
{
	struct reader line = *reader;
	enum taken taken = skip(reader);
	if (taken == taken_failure)
		fail(peer->failure, "the server said what is no RESP3: %.16s", (const char *)line.at);
	if (taken == taken_message && *line.at == '-') {
		fail(peer->failure, "the server refused: %.*s", (int)(reader->at - line.at - 2),
		     (const char *)line.at);
		return taken_failure;
	}
	if (taken == taken_message)
		/* A number counts the receivers of a publication. */
		incoming->kind = *line.at == ':' ? incoming_nothing : incoming_reply;
	return taken;
}

static enum taken take(struct peer *peer, struct incoming *incoming)
{
	const uint8_t *begin = peer->bytes + peer->start;
	struct reader reader = { .at = begin, .end = peer->bytes + peer->end };
	enum taken taken = read_message(&reader, incoming);
	if (taken == taken_partial)
		peer->wanted = (size_t)(reader.at - begin);
	if (taken == taken_message) {
		incoming->kind = incoming_post;
		if (incoming->payload_length < PAYLOAD_HEAD) {
			fail(peer->failure, "a payload of %zu bytes came", incoming->payload_length);
			return taken_failure;
		}
		incoming->number_at = (size_t)(incoming->payload - begin);
		incoming->number = LOAD(uint64_t, incoming->payload);
	}
	if (taken == taken_failure) {
		reader.at = begin;
		taken = take_reply(peer, &reader, incoming);
	}
	if (taken == taken_message) {
		incoming->bytes = begin;
		incoming->length = (size_t)(reader.at - begin);
		peer->start += incoming->length;
	}
	return taken;
}

static bool send_text(struct peer *peer, const char *text)
{
	return peer_send(peer, (const uint8_t *)text, strlen(text));
}

static bool greet(struct peer *peer)
{
	struct incoming reply;
	return send_text(peer, "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n")
	    && peer_expect(peer, &reply, incoming_reply, "the reply to HELLO");
}

static bool silence(struct peer *peer)
{
	return send_text(peer, "*3\r\n$6\r\nCLIENT\r\n$5\r\nREPLY\r\n$3\r\nOFF\r\n");
}

static bool observe(struct peer *peer, const char *const *names, size_t count)
{
	struct message message;
	message_begin(&message);
	message_print(&message, "*%zu\r\n$9\r\nSUBSCRIBE\r\n", count + 1);
	for (size_t i = 0; i < count; i++)
		message_print(&message, "$%zu\r\n%s\r\n", strlen(names[i]), names[i]);
	bool done = message_is_made(&message, peer->failure) && peer_send(peer, message.bytes, message.length);
	message_free(&message);
	struct incoming reply;
	for (size_t i = 0; done && i < count; i++)
		done = peer_expect(peer, &reply, incoming_reply, "a subscription");
	return done;
}

static bool make_post(struct message *message, const char *name, size_t payload, struct driver_failure *failure)
{
	message_begin(message);
	message_print(message, "*3\r\n$7\r\nPUBLISH\r\n$%zu\r\n%s\r\n$%zu\r\n", strlen(name), name, payload);
	message_add_payload(message, payload);
	message_print(message, "\r\n");
	return message_is_made(message, failure);
}

static bool prepare_requester(struct peer *peer)
{
	const char *const names[] = { answer_channel };
	return observe(peer, names, 1) && silence(peer);
}

static bool prepare_responder(struct peer *peer, size_t delegates)
{
	(void)delegates;
	const char *const names[] = { request_channel };
	return observe(peer, names, 1) && silence(peer);
}

static bool make_request(struct message *message, struct driver_failure *failure)
{
	return make_post(message, request_channel, driver_round_trip_bytes, failure);
}

static bool make_answer(struct message *message, struct driver_failure *failure)
{
	return make_post(message, answer_channel, driver_round_trip_bytes, failure);
}

const struct protocol redis_protocol = {
	.greet = greet,
	.take = take,
	.prepare_poster = silence,
	.observe = observe,
	.make_post = make_post,
	.payload_max = 256 * 1024 * 1024,
	.prepare_requester = prepare_requester,
	.prepare_responder = prepare_responder,
	.request_kind = incoming_post,
	.answer_kind = incoming_post,
	.make_request = make_request,
	.make_answer = make_answer,
};
