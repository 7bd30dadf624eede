/* SPDX-License-Identifier: Apache-2.0
 *
 * The bus's own protocol: docs/PROTOCOL.md. A round trip is an `ask`, put to a chain of delegates that approve.
 */
#include "frame.h"

#include <stdio.h>

enum { HELLO = 16, HELLO_CAPABILITIES = 12, HELLO_TAKES_FILES = 1 };

/* The least bytes of userInfo that the library sends as a file. */
enum { FILE_MIN = 64 * 1024 };

static const char question[] = "bench.shouldRun";
static const char object[] = "bench/1";

void frame_make(struct message *message, enum frame_kind kind, const void *fields, size_t fields_length,
                const char *name, const char *about, size_t payload_length)
{
	size_t name_length = strlen(name), object_length = strlen(about);
	uint8_t header[FRAME_HEADER] = { [AT_KIND] = (uint8_t)kind, [AT_NAME] = (uint8_t)name_length,
		                         [AT_OBJECT] = (uint8_t)object_length };
	STORE(uint32_t, header + AT_LENGTH,
	      FRAME_HEADER + fields_length + name_length + object_length + payload_length);
	STORE(uint64_t, header + AT_SERIAL, 1);
	STORE(uint32_t, header + AT_FIELDS, fields_length);
	message_begin(message);
	message_add(message, header, sizeof header);
	message_add(message, fields, fields_length);
	message_add(message, name, name_length);
	message_add(message, about, object_length);
	message_add_payload(message, payload_length);
	message->serial_at = AT_SERIAL;
	message->serial_bytes = sizeof(uint64_t);
}

enum taken frame_take(struct peer *peer, struct incoming *incoming)
{
	const uint8_t *frame = peer->bytes + peer->start;
	size_t there = peer->end - peer->start;
	if (there < FRAME_HEADER) {
		peer->wanted = FRAME_HEADER;
		return taken_partial;
	}
	size_t length = LOAD(uint32_t, frame + AT_LENGTH), fields = LOAD(uint32_t, frame + AT_FIELDS);
	size_t parts = FRAME_HEADER + fields + frame[AT_NAME] + frame[AT_OBJECT];
	if (length < parts) {
		fail(peer->failure, "a frame of %zu bytes came, whose parts have %zu", length, parts);
		return taken_failure;
	}
	if (there < length) {
		peer->wanted = length;
		return taken_partial;
	}
	incoming->bytes = frame;
	incoming->length = length;
	incoming->name = frame + FRAME_HEADER + fields;
	incoming->name_length = frame[AT_NAME];
	incoming->payload = frame + parts;
	incoming->payload_length = length - parts;
	peer->start += length;
	return taken_message;
}

static bool take_post(struct peer *peer, struct incoming *incoming)
{
	/* options 1, style 1, deadline 4, length 4 */
	enum { AT_FILE_LENGTH = FRAME_HEADER + 6, FIELDS = 10 };
	const uint8_t *frame = incoming->bytes;
	incoming->number_at = AT_SERIAL;
	incoming->number = LOAD(uint64_t, frame + AT_SERIAL);
	if (!(frame[AT_FLAGS] & frame_has_file))
		return true;
	incoming->file = peer_take_file(peer);
	if (incoming->file == -1 || incoming->payload_length || LOAD(uint32_t, frame + AT_FIELDS) < FIELDS)
		return fail(peer->failure, "a post speaks of a file that did not come");
	incoming->payload_length = LOAD(uint32_t, frame + AT_FILE_LENGTH);
	return true;
}

static bool refuse(struct peer *peer, const struct incoming *incoming)
{
	return fail(peer->failure, "the server refused: %.*s", (int)incoming->payload_length,
	            (const char *)incoming->payload);
}

static bool take_kind(struct peer *peer, struct incoming *incoming)
{
	const uint8_t *frame = incoming->bytes;
	switch (frame[AT_KIND]) {
	case frame_post:
		incoming->kind = incoming_post;
		return take_post(peer, incoming);
	case frame_question:
		incoming->kind = incoming_call;
		if (LOAD(uint32_t, frame + AT_FIELDS) < 16)
			return fail(peer->failure, "a question came without what it is about");
		/* A program's question has none. */
		if (incoming->payload_length >= PAYLOAD_HEAD)
			incoming->number = LOAD(uint64_t, incoming->payload);
		/* query, delegate */
		incoming->return_address = frame + FRAME_HEADER;
		incoming->return_address_length = 16;
		return true;
	case frame_concluded:
		incoming->kind = incoming_conclusion;
		return (LOAD(uint32_t, frame + AT_FIELDS) > 16 && frame[FRAME_HEADER + 16] == 0)
		    || fail(peer->failure, "a query ended otherwise than allowed");
	case frame_welcome:
	case frame_ok:
	case frame_verdict:
		incoming->kind = incoming_reply;
		incoming->number = LOAD(uint64_t, frame + AT_SERIAL);
		return true;
	case frame_error:
		return refuse(peer, incoming);
	case frame_lost:
		return fail(peer->failure, "the server dropped %llu notifications",
		            (unsigned long long)LOAD(uint64_t, frame + FRAME_HEADER));
	default:
		return fail(peer->failure, "a frame of kind %d came", frame[AT_KIND]);
	}
}

static enum taken take(struct peer *peer, struct incoming *incoming)
{
	enum taken taken = frame_take(peer, incoming);
	if (taken == taken_message && !take_kind(peer, incoming))
		return taken_failure;
	return taken;
}

static bool greet(struct peer *peer)
{
	uint8_t hello[HELLO] = { 0xF1, 'T', 'R', 'I', 'B', 'U', 'N', 'E', 1, 0, 1, 0 };
	if (peer->takes_files)
		hello[HELLO_CAPABILITIES] = HELLO_TAKES_FILES;
	if (!peer_send(peer, hello, sizeof hello))
		return false;
	while (peer->end - peer->start < sizeof hello)
		if (!peer_fill(peer))
			return false;
	if (memcmp(peer->bytes + peer->start, hello, HELLO_CAPABILITIES - 2) != 0)
		return fail(peer->failure, "the server's hello is not that of version 1");
	peer->start += sizeof hello;
	struct incoming welcome;
	return peer_expect(peer, &welcome, incoming_reply, "the welcome");
}

static bool expect_oks(struct peer *peer, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct incoming ok;
		if (!peer_expect(peer, &ok, incoming_reply, "an ok"))
			return false;
	}
	return true;
}

/* Each frame has the next serial. */
static bool send_numbered(struct peer *peer, struct message *message)
{
	bool done = message_is_made(message, peer->failure);
	if (done) {
		STORE(uint64_t, message->bytes + AT_SERIAL, ++peer->serial);
		done = peer_send(peer, message->bytes, message->length);
	}
	message_free(message);
	return done;
}

static bool observe(struct peer *peer, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct message message;
		frame_make(&message, frame_observe, "", 0, names[i], "", 0);
		if (!send_numbered(peer, &message))
			return false;
	}
	return expect_oks(peer, count);
}

static bool make_post(struct message *message, const char *name, size_t payload, struct driver_failure *failure)
{
	uint8_t fields[10] = { 0 };
	STORE(uint32_t, fields + 6, payload);
	bool has_file = payload >= FILE_MIN;
	frame_make(message, frame_post, fields, has_file ? sizeof fields : 0, name, "", has_file ? 0 : payload);
	message->number_at = AT_SERIAL;
	if (!message_is_made(message, failure))
		return false;
	if (!has_file)
		return true;
	message->bytes[AT_FLAGS] |= frame_has_file;
	return message_attach_payload(message, payload, failure);
}

/* Each delegate of a connection has its own label. */
static bool attach(struct peer *peer, size_t delegates)
{
	enum { LABEL = 8, LABEL_START = 11, COUNT_START = LABEL_START + LABEL, NAME_START = COUNT_START + 4 };
	/* order 4, failure policy 1, timeout 4, label, count of patterns 2, pattern, whether it replaces the
	 * chain 1, count of protocols 2 */
	uint8_t fields[NAME_START + sizeof question - 1 + 3] = {
		[9] = LABEL, [COUNT_START] = 1, [COUNT_START + 2] = sizeof question - 1
	};
	memcpy(fields + NAME_START, question, sizeof question - 1);
	for (size_t i = 0; i < delegates; i++) {
		char label[LABEL + 1];
		snprintf(label, sizeof label, "%08zu", i % 100000000);
		memcpy(fields + LABEL_START, label, LABEL);
		struct message message;
		frame_make(&message, frame_attach, fields, sizeof fields, "", object, 0);
		if (!send_numbered(peer, &message) || !expect_oks(peer, 1))
			return false;
	}
	return true;
}

static bool make_ask(struct message *message, struct driver_failure *failure)
{
	/* deadline: the bus's own; mode: parallel; fallback: vetoed, so that nobody's silence passes for
	 * an approval; parent, flags, reason of an override: none */
	static const uint8_t fields[17] = { [5] = 1 };
	frame_make(message, frame_ask, fields, sizeof fields, question, object, driver_round_trip_bytes);
	return message_is_made(message, failure);
}

static bool make_answer(struct message *message, struct driver_failure *failure)
{
	/* query, delegate, 0 for approval */
	static const uint8_t fields[17] = { 0 };
	frame_make(message, frame_answer, fields, sizeof fields, "", "", 0);
	message->number_at = AT_SERIAL;
	return message_is_made(message, failure);
}

static bool address_answer(struct peer *peer, struct message *answer, const struct incoming *request)
{
	(void)peer;
	memcpy(answer->bytes + FRAME_HEADER, request->return_address, request->return_address_length);
	return true;
}

static bool make_consent(struct message *message, const struct incoming *request, struct driver_failure *failure)
{
	return make_answer(message, failure) && address_answer(NULL, message, request);
}

/* Skips a text behind its 16 bits of length. NULL if it reaches past the end. */
static const uint8_t *behind_text(const uint8_t *at, const uint8_t *end)
{
	if (!at || end - at < 2 || end - at - 2 < LOAD(uint16_t, at))
		return NULL;
	return at + 2 + LOAD(uint16_t, at);
}

/* Whether the verdict is "allowed", with so many outcomes: those that are listed are approvals. */
static bool is_approval(const struct incoming *incoming, size_t delegates)
{
	/* query 8, verdict 1, unanswered 1, count 4; records: length 4, delegate 8, label, pid, uid, gid,
	 * process, unit, outcome 1, and what says more about it; overridden 1, dry run 1, outcomes omitted 4. */
	const uint8_t *frame = incoming->bytes;
	const uint8_t *at = frame + FRAME_HEADER, *end = at + LOAD(uint32_t, frame + AT_FIELDS);
	if (frame[AT_KIND] != frame_verdict || end - at < 14 || at[8] != 0 || at[9] != 0)
		return false;
	size_t listed = LOAD(uint32_t, at + 10);
	at += 14;
	for (size_t i = 0; i < listed; i++) {
		if (end - at < 4 || end - at - 4 < LOAD(uint32_t, at))
			return false;
		const uint8_t *record_end = at + 4 + LOAD(uint32_t, at);
		const uint8_t *peer = behind_text(at + 12, record_end);
		if (!peer || record_end - peer < 12)
			return false;
		const uint8_t *outcome = behind_text(behind_text(peer + 12, record_end), record_end);
		if (!outcome || outcome == record_end || *outcome != 0)
			return false;
		at = record_end;
	}
	return end - at >= 6 && at[0] == 0 && at[1] == 0 && listed + LOAD(uint32_t, at + 2) == delegates;
}

const struct protocol tribune_protocol = {
	.greet = greet,
	.take = take,
	.observe = observe,
	.make_post = make_post,
	.file_min = FILE_MIN,
	.payload_max = 16 * 1024 * 1024,
	.prepare_responder = attach,
	.request_kind = incoming_call,
	.answer_kind = incoming_reply,
	.has_conclusions = true,
	.make_request = make_ask,
	.make_answer = make_answer,
	.address_answer = address_answer,
	.make_consent = make_consent,
	.is_answer = is_approval,
};
