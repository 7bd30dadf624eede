/* SPDX-License-Identifier: Apache-2.0
 *
 * The text protocol of NATS. A request names the subject of its answer. Every client must answer the server's PINGs.
 */
#include "protocol.h"

#include <stdlib.h>

static const char request_subject[] = "bench.shouldRun";
static const char answer_subject[] = "bench.didRun";

enum {
	/* The number of the first subscription, so that all have the same count of digits. */
	SUBSCRIPTIONS_BEGIN = 100000,
	WORDS_MAX = 5,
};

struct word {
	const uint8_t *at;
	size_t length;
};

/* Splits a line at its spaces; returns how many words it has, at most `WORDS_MAX`. */
static size_t split(const uint8_t *at, const uint8_t *end, struct word *words)
{
	size_t count = 0;
	while (count < WORDS_MAX) {
		while (at < end && *at == ' ')
			at++;
		if (at == end)
			break;
		const uint8_t *begin = at;
		while (at < end && *at != ' ')
			at++;
		words[count++] = (struct word){ .at = begin, .length = (size_t)(at - begin) };
	}
	return count;
}

static size_t number_in(const struct word *word)
{
	size_t number = 0;
	for (size_t i = 0; i < word->length && word->at[i] >= '0' && word->at[i] <= '9'; i++)
		number = number > UINT32_MAX ? number : 10 * number + (size_t)(word->at[i] - '0');
	return number;
}

/* MSG subject subscription [subject for the answer] length, the line's end, the payload, another line's end. */
static enum taken take_message(struct peer *peer, const uint8_t *begin, const uint8_t *line_end,
                               struct incoming *incoming)
{
	struct word words[WORDS_MAX];
	size_t count = split(begin, line_end, words);
	if (count < 4) {
		fail(peer->failure, "a MSG came without what belongs to it");
		return taken_failure;
	}
	size_t payload = number_in(&words[count - 1]);
	size_t length = (size_t)(line_end - begin) + 2 + payload + 2;
	if (peer->end - peer->start < length) {
		peer->wanted = length;
		return taken_partial;
	}
	if (payload < PAYLOAD_HEAD) {
		fail(peer->failure, "a payload of %zu bytes came", payload);
		return taken_failure;
	}
	*incoming = (struct incoming){
		.kind = incoming_post, .length = length, .name = words[1].at, .name_length = words[1].length,
		.payload = line_end + 2, .payload_length = payload, .file = -1,
		.number_at = (size_t)(line_end + 2 - begin), .number = LOAD(uint64_t, line_end + 2),
	};
	if (count == WORDS_MAX) {
		incoming->return_address = words[3].at;
		incoming->return_address_length = words[3].length;
	}
	return taken_message;
}

static bool begins(const uint8_t *line, const uint8_t *end, const char *text)
{
	return (size_t)(end - line) >= strlen(text) && memcmp(line, text, strlen(text)) == 0;
}

static bool send_text(struct peer *peer, const char *text)
{
	return peer_send(peer, (const uint8_t *)text, strlen(text));
}

static enum taken take(struct peer *peer, struct incoming *incoming)
{
	const uint8_t *begin = peer->bytes + peer->start;
	size_t there = peer->end - peer->start;
	const uint8_t *line_end = there ? memchr(begin, '\r', there) : NULL;
	if (!line_end || line_end + 2 > begin + there)
		return taken_partial;
	incoming->length = (size_t)(line_end - begin) + 2;
	if (begins(begin, line_end, "MSG ")) {
		enum taken taken = take_message(peer, begin, line_end, incoming);
		if (taken != taken_message)
			return taken;
	} else if (begins(begin, line_end, "PING")) {
		if (!send_text(peer, "PONG\r\n"))
			return taken_failure;
	} else if (begins(begin, line_end, "PONG")) {
		incoming->kind = incoming_reply;
	} else if (!begins(begin, line_end, "INFO ")) {
		fail(peer->failure, "the server said: %.*s", (int)(line_end - begin), (const char *)begin);
		return taken_failure;
	}
	incoming->bytes = begin;
	peer->start += incoming->length;
	return taken_message;
}

/* A PONG shows that the server has understood everything before it. */
static bool synchronize(struct peer *peer)
{
	struct incoming reply;
	return send_text(peer, "PING\r\n") && peer_expect(peer, &reply, incoming_reply, "a PONG");
}

static bool greet(struct peer *peer)
{
	return send_text(peer, "CONNECT {\"verbose\":false,\"pedantic\":false,\"tls_required\":false,\"echo\":false,"
	                       "\"lang\":\"c\",\"version\":\"1\",\"protocol\":1}\r\n")
	    && synchronize(peer);
}

static bool observe(struct peer *peer, const char *const *names, size_t count)
{
	struct message message;
	message_begin(&message);
	for (size_t i = 0; i < count; i++)
		message_print(&message, "SUB %s %zu\r\n", names[i], SUBSCRIPTIONS_BEGIN + i);
	bool done = message_is_made(&message, peer->failure) && peer_send(peer, message.bytes, message.length);
	message_free(&message);
	return done && synchronize(peer);
}

static void make_publication(struct message *message, const char *name, const char *answer_name, size_t payload)
{
	message_begin(message);
	message_print(message, "PUB %s %s%s%zu\r\n", name, answer_name, answer_name[0] ? " " : "", payload);
	message_add_payload(message, payload);
	message_print(message, "\r\n");
}

static bool make_post(struct message *message, const char *name, size_t payload, struct driver_failure *failure)
{
	make_publication(message, name, "", payload);
	return message_is_made(message, failure);
}

static bool prepare_requester(struct peer *peer)
{
	const char *const names[] = { answer_subject };
	return observe(peer, names, 1);
}

static bool prepare_responder(struct peer *peer, size_t delegates)
{
	(void)delegates;
	const char *const names[] = { request_subject };
	return observe(peer, names, 1);
}

static bool make_request(struct message *message, struct driver_failure *failure)
{
	make_publication(message, request_subject, answer_subject, driver_round_trip_bytes);
	return message_is_made(message, failure);
}

static bool make_answer(struct message *message, struct driver_failure *failure)
{
	return make_post(message, answer_subject, driver_round_trip_bytes, failure);
}

/* There is one requester, so the answer has its subject already. */
static bool address_answer(struct peer *peer, struct message *answer, const struct incoming *request)
{
	(void)answer;
	return (request->return_address_length == sizeof answer_subject - 1
	        && memcmp(request->return_address, answer_subject, sizeof answer_subject - 1) == 0)
	    || fail(peer->failure, "a request came without the subject for its answer");
}

const struct protocol nats_protocol = {
	.greet = greet,
	.take = take,
	.observe = observe,
	.make_post = make_post,
	.payload_max = 64 * 1024 * 1024,
	.prepare_requester = prepare_requester,
	.prepare_responder = prepare_responder,
	.request_kind = incoming_post,
	.answer_kind = incoming_post,
	.make_request = make_request,
	.make_answer = make_answer,
	.address_answer = address_answer,
};
