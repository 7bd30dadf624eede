/* SPDX-License-Identifier: Apache-2.0
 *
 * One request at a time: requester → server → responder → server → requester. Each message ends in
 * the trip's number, which both sides check. Through the bus there can be several responders, each with
 * several delegates: a chain, all of which is asked.
 */
#include "peer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char name[] = "bench.shouldRun";
static const char object[] = "bench/1";

struct responder {
	struct peer *peer;
	struct peer *requester;
	enum driver_server server;
	/* On this connection. */
	size_t delegates;
	uint64_t trips;
	pthread_t thread;
	bool runs;
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

/* Approves all questions, and waits until each delegate has learned how each query ended. */
static bool approve_all(struct peer *peer, size_t delegates, uint64_t trips)
{
	/* query, delegate, 0 for approval */
	uint8_t fields[17] = { 0 };
	struct message answer;
	message_make(&answer, frame_answer, fields, sizeof fields, "", "", 0);
	for (uint64_t asked = 0, concluded = 0; concluded < trips * delegates;) {
		const uint8_t *frame = peer_next(peer);
		if (!frame)
			return false;
		if (frame[AT_KIND] == frame_question && number_of(frame) == asked / delegates + 1) {
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
	bool is_relay = responder->server == driver_relay;
	bool done = is_relay ? echo_all(responder->peer, responder->trips)
	                    : approve_all(responder->peer, responder->delegates, responder->trips);
	if (!done)
		peer_interrupt(responder->requester);
	return NULL;
}

/* Goes past a text, whose length in 16 bits stands before it. NULL when it reaches past the end. */
static const uint8_t *behind_text(const uint8_t *at, const uint8_t *end)
{
	if (!at || end - at < 2 || end - at - 2 < LOAD(uint16_t, at))
		return NULL;
	return at + 2 + LOAD(uint16_t, at);
}

/* Whether the verdict is "allowed", with so many outcomes: each of them approved. */
static bool is_approval(const uint8_t *frame, size_t delegates)
{
	/* query 8, verdict 1, unanswered 1, count 4; records: length 4, delegate 8, label, pid, uid, gid,
	 * process, unit, outcome 1, and what says more about it; overridden 1, dry run 1. */
	const uint8_t *at = frame + FRAME_HEADER, *end = at + LOAD(uint32_t, frame + AT_FIELDS);
	if (end - at < 14 || at[8] != 0 || at[9] != 0 || LOAD(uint32_t, at + 10) != delegates)
		return false;
	at += 14;
	for (size_t i = 0; i < delegates; i++) {
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
	return end - at >= 2 && at[0] == 0 && at[1] == 0;
}

static bool is_reply(enum driver_server server, const uint8_t *frame, size_t delegates, uint64_t trip)
{
	if (LOAD(uint64_t, frame + AT_SERIAL) != trip)
		return false;
	if (server == driver_relay)
		return number_of(frame) == trip;
	return frame[AT_KIND] == frame_verdict && is_approval(frame, delegates);
}

static bool request_all(struct peer *peer, enum driver_server server, size_t delegates, size_t warm_up,
                        size_t count, uint64_t *nanoseconds)
{
	/* deadline: the bus's own; mode: parallel; fallback: vetoed, so that nobody's silence passes for
	 * an approval; parent, flags, reason of an override: none */
	static const uint8_t fields[17] = { [5] = 1 };
	struct message request;
	if (server == driver_relay)
		message_make(&request, frame_ask, "", 0, "", "", driver_round_trip_bytes - FRAME_HEADER);
	else
		message_make(&request, frame_ask, fields, sizeof fields, name, object, driver_round_trip_bytes);
	for (uint64_t trip = 1; trip <= warm_up + count; trip++) {
		STORE(uint64_t, request.bytes + AT_SERIAL, trip);
		STORE(uint64_t, request.bytes + request.length - 8, trip);
		uint64_t start = now_nanoseconds();
		const uint8_t *reply = peer_send(peer, request.bytes, request.length) ? peer_next(peer) : NULL;
		uint64_t end = now_nanoseconds();
		if (!reply)
			return false;
		if (!is_reply(server, reply, delegates, trip))
			return peer_refuse(peer, reply, "a verdict that allows");
		if (trip > warm_up)
			nanoseconds[trip - warm_up - 1] = end - start;
	}
	return true;
}

/* Labels tell the delegates of one connection apart. */
static bool attach(struct peer *peer, size_t delegates)
{
	enum { LABEL = 8, LABEL_START = 11, COUNT_START = LABEL_START + LABEL, NAME_START = COUNT_START + 4 };
	/* order 4, failure policy 1, timeout 4, label, count of patterns 2, pattern, whether it replaces the
	 * chain 1, count of protocols 2 */
	uint8_t fields[NAME_START + sizeof name - 1 + 3] = {
		[9] = LABEL, [COUNT_START] = 1, [COUNT_START + 2] = sizeof name - 1
	};
	memcpy(fields + NAME_START, name, sizeof name - 1);
	for (size_t i = 0; i < delegates; i++) {
		char label[LABEL + 1];
		snprintf(label, sizeof label, "%08zu", i % 100000000);
		memcpy(fields + LABEL_START, label, LABEL);
		struct message attach;
		message_make(&attach, frame_attach, fields, sizeof fields, "", object, 0);
		STORE(uint64_t, attach.bytes + AT_SERIAL, i + 1);
		if (!peer_send(peer, attach.bytes, attach.length) || !peer_expect(peer, frame_ok))
			return false;
	}
	return true;
}

static bool start(struct responder *responder, const char *path, struct driver_failure *failure)
{
	responder->peer = peer_connect(responder->server, path, failure);
	if (!responder->peer
	    || (responder->server == driver_tribune && !attach(responder->peer, responder->delegates)))
		return false;
	if (pthread_create(&responder->thread, NULL, respond, responder) != 0)
		return fail(failure, "no thread could be made");
	return responder->runs = true;
}

static int round_trips(enum driver_server server, const char *path, size_t connections, size_t delegates,
                       size_t warm_up, size_t count, uint64_t *nanoseconds, struct driver_failure *failure)
{
	struct responder *all = calloc(connections, sizeof *all);
	if (!all) {
		fail(failure, "out of memory");
		return -1;
	}
	struct peer *requester = peer_connect(server, path, failure);
	bool done = requester != NULL;
	for (size_t i = 0; done && i < connections; i++) {
		all[i] = (struct responder){
			.requester = requester, .server = server, .delegates = delegates, .trips = warm_up + count
		};
		done = start(&all[i], path, failure);
	}
	done = done && request_all(requester, server, connections * delegates, warm_up, count, nanoseconds);
	for (size_t i = 0; i < connections; i++) {
		if (!done && all[i].peer)
			peer_interrupt(all[i].peer);
		if (all[i].runs)
			pthread_join(all[i].thread, NULL);
	}
	for (size_t i = 0; i < connections; i++)
		peer_close(all[i].peer);
	peer_close(requester);
	free(all);
	return done && !failure->taken ? 0 : -1;
}

int driver_round_trips(enum driver_server server, const char *path, size_t count, uint64_t *nanoseconds,
                       struct driver_failure *failure)
{
	return round_trips(server, path, 1, 1, driver_warm_up, count, nanoseconds, failure);
}

int driver_chain(const char *path, size_t connections, size_t delegates, size_t count,
                 uint64_t *nanoseconds, struct driver_failure *failure)
{
	return round_trips(driver_tribune, path, connections, delegates, driver_chain_warm_up, count, nanoseconds,
	                   failure);
}
