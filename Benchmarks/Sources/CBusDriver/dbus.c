/* SPDX-License-Identifier: Apache-2.0
 *
 * D-Bus, for either daemon. A round trip is a method call and its return. A post is a signal whose interface is the
 * name, by which daemons find its receivers. Payloads are of type `ay`.
 */
#define _GNU_SOURCE
#include "protocol.h"

#include <stdio.h>
#include <unistd.h>

enum { TYPE_CALL = 1, TYPE_RETURN = 2, TYPE_ERROR = 3, TYPE_SIGNAL = 4 };
enum { FLAG_NO_REPLY_EXPECTED = 1 };
enum field {
	field_path = 1,
	field_interface = 2,
	field_member = 3,
	field_error = 4,
	field_reply_serial = 5,
	field_destination = 6,
	field_sender = 7,
	field_signature = 8,
};

/* Offsets in a header. */
enum { AT_TYPE = 1, AT_BODY_LENGTH = 4, AT_SERIAL = 8, AT_FIELDS_LENGTH = 12, AT_FIELDS = 16 };
/* Offsets in an answer, whose first fields are these. */
enum { AT_REPLY_SERIAL = 20, AT_DESTINATION = 32 };

static const char bus[] = "org.freedesktop.DBus";
static const char bus_path[] = "/org/freedesktop/DBus";
static const char responder_name[] = "bench.Responder";
static const char path[] = "/bench";
static const char question[] = "bench.shouldRun";

/* Making messages. */

static void pad(struct message *message, size_t boundary)
{
	static const uint8_t zeros[8];
	message_add(message, zeros, (boundary - message->length % boundary) % boundary);
}

static void begin(struct message *message, uint8_t type, uint8_t flags)
{
	uint8_t header[AT_FIELDS] = { 'l', type, flags, 1 };
	STORE(uint32_t, header + AT_SERIAL, 1);
	message_begin(message);
	message_add(message, header, sizeof header);
}

static void add_number(struct message *message, uint32_t number)
{
	pad(message, 4);
	message_add(message, &number, sizeof number);
}

static void add_text(struct message *message, const char *text, size_t length)
{
	add_number(message, (uint32_t)length);
	message_add(message, text, length);
	message_add(message, "", 1);
}

static void add_field(struct message *message, enum field field, char type)
{
	pad(message, 8);
	uint8_t opening[] = { (uint8_t)field, 1, (uint8_t)type, 0 };
	message_add(message, opening, sizeof opening);
}

static void add_text_field(struct message *message, enum field field, const char *text, size_t length)
{
	add_field(message, field, field == field_path ? 'o' : 's');
	add_text(message, text, length);
}

static void add_signature(struct message *message, const char *signature)
{
	add_field(message, field_signature, 'g');
	uint8_t length = (uint8_t)strlen(signature);
	message_add(message, &length, 1);
	message_add(message, signature, length + 1u);
}

/* Ends the header; the body begins behind it. */
static size_t end_header(struct message *message)
{
	if (!message->is_short)
		STORE(uint32_t, message->bytes + AT_FIELDS_LENGTH, message->length - AT_FIELDS);
	pad(message, 8);
	return message->length;
}

static void end_body(struct message *message, size_t body)
{
	if (!message->is_short)
		STORE(uint32_t, message->bytes + AT_BODY_LENGTH, message->length - body);
	message->serial_at = AT_SERIAL;
	message->serial_bytes = sizeof(uint32_t);
}

static void add_payload_body(struct message *message, size_t payload)
{
	add_signature(message, "ay");
	size_t body = end_header(message);
	add_number(message, (uint32_t)payload);
	message_add_payload(message, payload);
	end_body(message, body);
}

static void add_member(struct message *message, const char *at_path, const char *interface, const char *member)
{
	add_text_field(message, field_path, at_path, strlen(at_path));
	add_text_field(message, field_interface, interface, strlen(interface));
	add_text_field(message, field_member, member, strlen(member));
}

static bool make_post(struct message *message, const char *name, size_t payload, struct driver_failure *failure)
{
	begin(message, TYPE_SIGNAL, FLAG_NO_REPLY_EXPECTED);
	add_member(message, path, name, "Posted");
	add_payload_body(message, payload);
	return message_is_made(message, failure);
}

static bool make_request(struct message *message, struct driver_failure *failure)
{
	begin(message, TYPE_CALL, 0);
	add_member(message, path, question, "Run");
	add_text_field(message, field_destination, responder_name, sizeof responder_name - 1);
	add_payload_body(message, driver_round_trip_bytes);
	return message_is_made(message, failure);
}

static bool make_answer_to(struct message *message, const uint8_t *destination, size_t length,
                           struct driver_failure *failure)
{
	begin(message, TYPE_RETURN, FLAG_NO_REPLY_EXPECTED);
	add_field(message, field_reply_serial, 'u');
	add_number(message, 0);
	add_text_field(message, field_destination, (const char *)destination, length);
	add_payload_body(message, driver_round_trip_bytes);
	return message_is_made(message, failure);
}

static bool make_answer(struct message *message, struct driver_failure *failure)
{
	return make_answer_to(message, (const uint8_t *)bus, sizeof bus - 1, failure);
}

/* There is one requester, so the answer is addressed only once. */
static bool address_answer(struct peer *peer, struct message *answer, const struct incoming *request)
{
	size_t length = request->return_address_length;
	if (LOAD(uint32_t, answer->bytes + AT_DESTINATION - 4) != length
	    || memcmp(answer->bytes + AT_DESTINATION, request->return_address, length) != 0) {
		message_free(answer);
		if (!make_answer_to(answer, request->return_address, length, peer->failure))
			return false;
	}
	STORE(uint32_t, answer->bytes + AT_REPLY_SERIAL, LOAD(uint32_t, request->bytes + AT_SERIAL));
	return true;
}

static bool make_consent(struct message *message, const struct incoming *request, struct driver_failure *failure)
{
	begin(message, TYPE_RETURN, FLAG_NO_REPLY_EXPECTED);
	add_field(message, field_reply_serial, 'u');
	add_number(message, LOAD(uint32_t, request->bytes + AT_SERIAL));
	add_text_field(message, field_destination, (const char *)request->return_address,
	               request->return_address_length);
	add_signature(message, "b");
	size_t body = end_header(message);
	add_number(message, 1);
	end_body(message, body);
	return message_is_made(message, failure);
}

/* Reading messages. */

struct text {
	const uint8_t *at;
	size_t length;
};

struct header {
	struct text texts[field_signature + 1];
	uint32_t reply_serial;
};

static bool is(const struct text *text, const char *expected)
{
	return text->length == strlen(expected) && memcmp(text->at, expected, text->length) == 0;
}

/* Reads the fields that lie up to `end`; false when one does not end there. */
static bool read_fields(const uint8_t *bytes, size_t end, struct header *header)
{
	for (size_t at = AT_FIELDS; at < end;) {
		at = (at + 7) / 8 * 8;
		/* Its code, its type as a signature of one letter, and a value: of two bytes at least, if it is a
		 * signature, or else of four. */
		if (at + 6 > end || bytes[at + 1] != 1 || (bytes[at + 2] != 'g' && at + 8 > end))
			return false;
		uint8_t field = bytes[at], type = bytes[at + 2];
		struct text text;
		at += 4;
		if (type == 'u') {
			if (field == field_reply_serial)
				header->reply_serial = LOAD(uint32_t, bytes + at);
			at += 4;
			continue;
		} else if (type == 'g') {
			text = (struct text){ .at = bytes + at + 1, .length = bytes[at] };
		} else if (type == 's' || type == 'o') {
			text = (struct text){ .at = bytes + at + 4, .length = LOAD(uint32_t, bytes + at) };
		} else {
			return false;
		}
		at = (size_t)(text.at - bytes) + text.length + 1;
		if (at > end)
			return false;
		if (field <= field_signature)
			header->texts[field] = text;
	}
	return true;
}

static bool refuse(struct peer *peer, const struct header *header, const uint8_t *body, size_t length)
{
	const struct text *error = &header->texts[field_error];
	const struct text *signature = &header->texts[field_signature];
	size_t said = length > 4 && signature->length && *signature->at == 's' ? LOAD(uint32_t, body) : 0;
	return fail(peer->failure, "the server refused: %.*s: %.*s", (int)error->length, (const char *)error->at,
	            (int)(said <= length - 4 ? said : 0), (const char *)body + 4);
}

static bool take_payload(struct peer *peer, struct incoming *incoming, const uint8_t *body, size_t length)
{
	if (length < 4 + PAYLOAD_HEAD || LOAD(uint32_t, body) != length - 4)
		return fail(peer->failure, "a body of %zu bytes came that is no payload", length);
	incoming->payload = body + 4;
	incoming->payload_length = length - 4;
	incoming->number_at = (size_t)(body + 4 - incoming->bytes);
	incoming->number = LOAD(uint64_t, body + 4);
	return true;
}

static bool take_kind(struct peer *peer, struct incoming *incoming, const struct header *header,
                      const uint8_t *body, size_t length)
{
	const struct text *interface = &header->texts[field_interface], *sender = &header->texts[field_sender];
	bool has_payload = is(&header->texts[field_signature], "ay");
	incoming->name = interface->at;
	incoming->name_length = interface->length;
	incoming->return_address = sender->at;
	incoming->return_address_length = sender->length;
	switch (incoming->bytes[AT_TYPE]) {
	case TYPE_SIGNAL:
		/* The daemon tells a connection about its own names. */
		if (is(interface, bus))
			return true;
		incoming->kind = incoming_post;
		return take_payload(peer, incoming, body, length);
	case TYPE_CALL:
		incoming->kind = incoming_call;
		/* A program's call has none. */
		return !has_payload || take_payload(peer, incoming, body, length);
	case TYPE_RETURN:
		incoming->kind = incoming_reply;
		incoming->number = header->reply_serial;
		if (!has_payload)
			return true;
		return take_payload(peer, incoming, body, length)
		    && ((uint32_t)incoming->number == header->reply_serial
		        || fail(peer->failure, "an answer came to another call than it was made for"));
	default:
		return refuse(peer, header, body, length);
	}
}

static enum taken take(struct peer *peer, struct incoming *incoming)
{
	const uint8_t *bytes = peer->bytes + peer->start;
	size_t there = peer->end - peer->start;
	if (there < AT_FIELDS) {
		peer->wanted = AT_FIELDS;
		return taken_partial;
	}
	size_t fields_end = AT_FIELDS + (size_t)LOAD(uint32_t, bytes + AT_FIELDS_LENGTH);
	size_t body = (fields_end + 7) / 8 * 8, length = body + LOAD(uint32_t, bytes + AT_BODY_LENGTH);
	if (there < length) {
		peer->wanted = length;
		return taken_partial;
	}
	struct header header = { 0 };
	if (bytes[0] != 'l' || !read_fields(bytes, fields_end, &header)) {
		fail(peer->failure, "a message came that cannot be read");
		return taken_failure;
	}
	incoming->bytes = bytes;
	incoming->length = length;
	peer->start += length;
	return take_kind(peer, incoming, &header, bytes + body, length - body) ? taken_message : taken_failure;
}

/* Being on the bus. */

/* Begins a call of the bus's own, whose arguments are a text and, if `signature` is "su", a number. */
static bool call_bus(struct peer *peer, const char *member, const char *signature, const char *text)
{
	struct message message;
	begin(&message, TYPE_CALL, 0);
	add_member(&message, bus_path, bus, member);
	add_text_field(&message, field_destination, bus, sizeof bus - 1);
	if (signature[0])
		add_signature(&message, signature);
	size_t body = end_header(&message);
	if (signature[0])
		add_text(&message, text, strlen(text));
	if (signature[0] && signature[1])
		add_number(&message, 0);
	end_body(&message, body);
	bool done = message_is_made(&message, peer->failure);
	if (done) {
		STORE(uint32_t, message.bytes + AT_SERIAL, ++peer->serial);
		done = peer_send(peer, message.bytes, message.length);
	}
	message_free(&message);
	return done;
}

static bool expect_returns(struct peer *peer, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct incoming reply;
		if (!peer_expect(peer, &reply, incoming_reply, "the bus's answer"))
			return false;
	}
	return true;
}

/* Authenticates; the daemon checks the user with the kernel. */
static bool authenticate(struct peer *peer)
{
	char user[16], line[64] = "\0AUTH EXTERNAL ";
	size_t length = 1 + strlen(line + 1);
	snprintf(user, sizeof user, "%u", (unsigned)getuid());
	for (const char *digit = user; *digit; digit++)
		length += (size_t)snprintf(line + length, sizeof line - length, "%02x", *digit);
	length += (size_t)snprintf(line + length, sizeof line - length, "\r\n");
	if (!peer_send(peer, (const uint8_t *)line, length))
		return false;
	while (!memmem(peer->bytes, peer->end, "\r\n", 2))
		if (!peer_fill(peer))
			return false;
	if (peer->end < 3 || memcmp(peer->bytes, "OK ", 3) != 0)
		return fail(peer->failure, "the bus does not let this user in: %.*s", (int)peer->end - 2,
		            (const char *)peer->bytes);
	peer->start = peer->end;
	return peer_send(peer, (const uint8_t *)"BEGIN\r\n", 7);
}

static bool greet(struct peer *peer)
{
	return authenticate(peer) && call_bus(peer, "Hello", "", "") && expect_returns(peer, 1);
}

static bool observe(struct peer *peer, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char rule[512];
		snprintf(rule, sizeof rule, "type='signal',interface='%s',member='Posted'", names[i]);
		if (!call_bus(peer, "AddMatch", "s", rule))
			return false;
	}
	return expect_returns(peer, count);
}

static bool prepare_responder(struct peer *peer, size_t delegates)
{
	(void)delegates;
	return call_bus(peer, "RequestName", "su", responder_name) && expect_returns(peer, 1);
}

const struct protocol dbus_protocol = {
	.greet = greet,
	.take = take,
	.observe = observe,
	.make_post = make_post,
	.payload_max = 64 * 1024 * 1024,
	.prepare_responder = prepare_responder,
	.request_kind = incoming_call,
	.answer_kind = incoming_reply,
	.make_request = make_request,
	.make_answer = make_answer,
	.address_answer = address_answer,
	.make_consent = make_consent,
};
