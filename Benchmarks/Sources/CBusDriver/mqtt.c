/* SPDX-License-Identifier: Apache-2.0
 *
 * MQTT 3.1.1 with QoS 0. A request and its answer are publications under two topics.
 */
#include "protocol.h"

enum { CONNECT = 0x10, CONNACK = 0x20, PUBLISH = 0x30, SUBSCRIBE = 0x82, SUBACK = 0x90 };

static const char request_topic[] = "bench.shouldRun";
static const char answer_topic[] = "bench.didRun";

/* Adds a packet's first byte, and how long the rest will be: seven bits a byte, the lowest first. */
static void begin(struct message *message, uint8_t kind, size_t length)
{
	message_begin(message);
	message_add(message, &kind, 1);
	do {
		uint8_t byte = (uint8_t)(length & 0x7F) | (length > 0x7F ? 0x80 : 0);
		message_add(message, &byte, 1);
		length >>= 7;
	} while (length);
}

static void add_text(struct message *message, const char *text)
{
	size_t length = strlen(text);
	uint8_t prefix[] = { (uint8_t)(length >> 8), (uint8_t)length };
	message_add(message, prefix, sizeof prefix);
	message_add(message, text, length);
}

static bool send_packet(struct peer *peer, struct message *message)
{
	bool done = message_is_made(message, peer->failure) && peer_send(peer, message->bytes, message->length);
	message_free(message);
	return done;
}

static bool take_publication(struct peer *peer, struct incoming *incoming, size_t begin)
{
	const uint8_t *bytes = incoming->bytes;
	size_t length = incoming->length;
	size_t topic = length - begin < 2 ? length : (size_t)bytes[begin] << 8 | bytes[begin + 1];
	if (length < begin + 2 + topic + PAYLOAD_HEAD)
		return fail(peer->failure, "a publication of %zu bytes came", length);
	incoming->kind = incoming_post;
	incoming->name = bytes + begin + 2;
	incoming->name_length = topic;
	incoming->payload = incoming->name + topic;
	incoming->payload_length = (size_t)(bytes + length - incoming->payload);
	incoming->number_at = (size_t)(incoming->payload - bytes);
	incoming->number = LOAD(uint64_t, incoming->payload);
	return true;
}

/* A refusal of either kind has a value of 0x80 somewhere, or one that is not 0. */
static bool take_acknowledgement(struct peer *peer, struct incoming *incoming, size_t begin)
{
	const uint8_t *bytes = incoming->bytes;
	incoming->kind = incoming_reply;
	for (size_t i = bytes[0] == CONNACK ? begin + 1 : begin + 2; i < incoming->length; i++)
		if (bytes[i] != 0)
			return fail(peer->failure, "the server refused, with the code %d", bytes[i]);
	return true;
}

static enum taken take(struct peer *peer, struct incoming *incoming)
{
	const uint8_t *bytes = peer->bytes + peer->start;
	size_t there = peer->end - peer->start, length = 0, at = 1;
	for (int shift = 0;; at++, shift += 7) {
		if (there <= at)
			return taken_partial;
		length |= (size_t)(bytes[at] & 0x7F) << shift;
		if (!(bytes[at] & 0x80))
			break;
		if (shift == 21) {
			fail(peer->failure, "a packet came whose length has no end");
			return taken_failure;
		}
	}
	size_t begin = at + 1;
	if (there < begin + length) {
		peer->wanted = begin + length;
		return taken_partial;
	}
	incoming->bytes = bytes;
	incoming->length = begin + length;
	peer->start += incoming->length;
	bool done;
	switch (bytes[0]) {
	case PUBLISH: done = take_publication(peer, incoming, begin); break;
	case CONNACK:
	case SUBACK: done = take_acknowledgement(peer, incoming, begin); break;
	default: done = fail(peer->failure, "a packet of kind %#x came", bytes[0]);
	}
	return done ? taken_message : taken_failure;
}

static bool greet(struct peer *peer)
{
	/* protocol, its level, flags: a clean session, keep-alive: none; client: the server's choice */
	static const uint8_t behind_name[] = { 4, 0x02, 0, 0 };
	struct message message;
	begin(&message, CONNECT, 2 + 4 + sizeof behind_name + 2);
	add_text(&message, "MQTT");
	message_add(&message, behind_name, sizeof behind_name);
	add_text(&message, "");
	struct incoming reply;
	return send_packet(peer, &message) && peer_expect(peer, &reply, incoming_reply, "a CONNACK");
}

static bool observe(struct peer *peer, const char *const *names, size_t count)
{
	static const uint8_t packet_identifier[] = { 0, 1 }, quality = 0;
	size_t length = sizeof packet_identifier;
	for (size_t i = 0; i < count; i++)
		length += 2 + strlen(names[i]) + sizeof quality;
	struct message message;
	begin(&message, SUBSCRIBE, length);
	message_add(&message, packet_identifier, sizeof packet_identifier);
	for (size_t i = 0; i < count; i++) {
		add_text(&message, names[i]);
		message_add(&message, &quality, sizeof quality);
	}
	struct incoming reply;
	return send_packet(peer, &message) && peer_expect(peer, &reply, incoming_reply, "a SUBACK");
}

static bool make_post(struct message *message, const char *name, size_t payload, struct driver_failure *failure)
{
	begin(message, PUBLISH, 2 + strlen(name) + payload);
	add_text(message, name);
	message_add_payload(message, payload);
	return message_is_made(message, failure);
}

static bool prepare_requester(struct peer *peer)
{
	const char *const names[] = { answer_topic };
	return observe(peer, names, 1);
}

static bool prepare_responder(struct peer *peer, size_t delegates)
{
	(void)delegates;
	const char *const names[] = { request_topic };
	return observe(peer, names, 1);
}

static bool make_request(struct message *message, struct driver_failure *failure)
{
	return make_post(message, request_topic, driver_round_trip_bytes, failure);
}

static bool make_answer(struct message *message, struct driver_failure *failure)
{
	return make_post(message, answer_topic, driver_round_trip_bytes, failure);
}

const struct protocol mqtt_protocol = {
	.greet = greet,
	.take = take,
	.observe = observe,
	.make_post = make_post,
	.payload_max = 256 * 1024 * 1024 - 1024,
	.prepare_requester = prepare_requester,
	.prepare_responder = prepare_responder,
	.request_kind = incoming_post,
	.answer_kind = incoming_post,
	.make_request = make_request,
	.make_answer = make_answer,
};
