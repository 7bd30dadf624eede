/* SPDX-License-Identifier: Apache-2.0
 *
 * One request at a time: requester → server → responder → server → requester. Each message ends in
 * the trip's number, which both sides check.
 */
#include "peer.h"

#include <pthread.h>

static const char name[] = "bench.shouldRun";
static const char object[] = "bench/1";

struct responder {
	struct peer *peer;
	struct peer *requester;
	enum driver_server server;
	uint64_t trips;
};

static uint64_t number_of(const uint8_t *frame)
{
	return LOAD(uint64_t, frame + LOAD(uint32_t, frame + AT_LENGTH) - 8);
}

static bool echo_all(struct peer *peer, uint64_t trips)
{
	for (uint64_t trip = 1; trip <= trips; trip++) {
		const uint8_t *frame = peer_next(peer);
		if (!frame)
			return false;
		if (LOAD(uint32_t, frame + AT_LENGTH) != driver_round_trip_bytes || number_of(frame) != trip)
			return peer_refuse(peer, frame, "the next message");
		if (!peer_send(peer, frame, driver_round_trip_bytes))
			return false;
	}
	return true;
}

/* Approves all questions, and waits until it has learned how each query ended. */
static bool approve_all(struct peer *peer, uint64_t trips)
{
	/* query, delegate, 0 for approval */
	uint8_t fields[17] = { 0 };
	struct message answer;
	message_make(&answer, frame_answer, fields, sizeof fields, "", "", 0);
	for (uint64_t asked = 0, concluded = 0; concluded < trips;) {
		const uint8_t *frame = peer_next(peer);
		if (!frame)
			return false;
		if (frame[AT_KIND] == frame_question && number_of(frame) == asked + 1) {
			asked++;
			STORE(uint64_t, answer.bytes + AT_SERIAL, asked + 1);
			memcpy(answer.bytes + FRAME_HEADER, frame + FRAME_HEADER, 16);
			if (!peer_send(peer, answer.bytes, answer.length))
				return false;
		} else if (frame[AT_KIND] == frame_concluded && frame[FRAME_HEADER + 16] == 0 && concluded < asked) {
			concluded++;
		} else {
			return peer_refuse(peer, frame, "the next question, or that the last was allowed");
		}
	}
	return true;
}

static void *respond(void *argument)
{
	struct responder *responder = argument;
	bool done = responder->server == driver_relay ? echo_all(responder->peer, responder->trips)
	                                              : approve_all(responder->peer, responder->trips);
	if (!done)
		peer_interrupt(responder->requester);
	return NULL;
}

/* Whether the verdict is "allowed", with one outcome: approved. */
static bool is_approval(const uint8_t *frame)
{
	/* query 8, verdict 1, unanswered 1, count 4; record: length 4, delegate 8, label, pid, uid, gid,
	 * process, unit, outcome 1; each text with its length in 16 bits before it. */
	const uint8_t *fields = frame + FRAME_HEADER, *end = fields + LOAD(uint32_t, frame + AT_FIELDS);
	if (end < fields + 32 || fields[8] != 0 || fields[9] != 0 || LOAD(uint32_t, fields + 10) != 1)
		return false;
	const uint8_t *at = fields + 26;
	at += 2 + LOAD(uint16_t, at);
	at += 12;
	if (at + 2 > end)
		return false;
	at += 2 + LOAD(uint16_t, at);
	if (at + 2 > end)
		return false;
	at += 2 + LOAD(uint16_t, at);
	return at < end && *at == 0;
}

static bool is_reply(enum driver_server server, const uint8_t *frame, uint64_t trip)
{
	if (LOAD(uint64_t, frame + AT_SERIAL) != trip)
		return false;
	if (server == driver_relay)
		return number_of(frame) == trip;
	return frame[AT_KIND] == frame_verdict && is_approval(frame);
}

static bool request_all(struct peer *peer, enum driver_server server, size_t count, uint64_t *nanoseconds)
{
	/* deadline: the bus's own; mode: parallel; fallback: vetoed, so that nobody's silence passes for
	 * an approval; parent, flags, reason of an override: none */
	static const uint8_t fields[17] = { [5] = 1 };
	struct message request;
	if (server == driver_relay)
		message_make(&request, frame_ask, "", 0, "", "", driver_round_trip_bytes - FRAME_HEADER);
	else
		message_make(&request, frame_ask, fields, sizeof fields, name, object, driver_round_trip_bytes);
	for (uint64_t trip = 1; trip <= driver_warm_up + count; trip++) {
		STORE(uint64_t, request.bytes + AT_SERIAL, trip);
		STORE(uint64_t, request.bytes + request.length - 8, trip);
		uint64_t start = now_nanoseconds();
		const uint8_t *reply = peer_send(peer, request.bytes, request.length) ? peer_next(peer) : NULL;
		uint64_t end = now_nanoseconds();
		if (!reply)
			return false;
		if (!is_reply(server, reply, trip))
			return peer_refuse(peer, reply, "a verdict that allows");
		if (trip > driver_warm_up)
			nanoseconds[trip - driver_warm_up - 1] = end - start;
	}
	return true;
}

static bool attach(struct peer *peer)
{
	/* order 4, failure policy 1, timeout 4, label, count of patterns 2, pattern, whether it replaces the
	 * chain 1, count of protocols 2 */
	uint8_t fields[15 + sizeof name - 1 + 3] = { [11] = 1, [13] = sizeof name - 1 };
	memcpy(fields + 15, name, sizeof name - 1);
	struct message attach;
	message_make(&attach, frame_attach, fields, sizeof fields, "", object, 0);
	return peer_send(peer, attach.bytes, attach.length) && peer_expect(peer, frame_ok);
}

int driver_round_trips(enum driver_server server, const char *path, size_t count, uint64_t *nanoseconds,
                       struct driver_failure *failure)
{
	bool done = false;
	struct responder responder = { .server = server, .trips = driver_warm_up + count };
	struct peer *requester = responder.requester = peer_connect(server, path, failure);
	if (!requester)
		return -1;
	responder.peer = peer_connect(server, path, failure);
	if (responder.peer && (server == driver_relay || attach(responder.peer))) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, respond, &responder) != 0) {
			fail(failure, "no thread could be made");
		} else {
			done = request_all(requester, server, count, nanoseconds);
			if (!done)
				peer_interrupt(responder.peer);
			pthread_join(thread, NULL);
		}
	}
	peer_close(requester);
	peer_close(responder.peer);
	return done && !failure->taken ? 0 : -1;
}
