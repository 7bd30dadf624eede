/* SPDX-License-Identifier: Apache-2.0
 *
 * One request at a time: requester → server → responder → server → requester. Each message has the trip's
 * number, which both sides check. With Tribune, there can be several responders, each with several delegates: a
 * chain, of which all are asked.
 */
#include "protocol.h"

#include <pthread.h>
#include <stdlib.h>

struct responder {
	struct peer *peer;
	struct peer *requester;
	/* On this connection. */
	size_t delegates;
	uint64_t trips;
	pthread_t thread;
	bool runs;
};

struct trip {
	struct message request, answer;
};

static bool make_trip(struct trip *trip, const struct protocol *protocol, struct driver_failure *failure)
{
	message_begin(&trip->request);
	message_begin(&trip->answer);
	return protocol->make_request(&trip->request, failure) && protocol->make_answer(&trip->answer, failure);
}

static void free_trip(struct trip *trip)
{
	message_free(&trip->request);
	message_free(&trip->answer);
}

/* Whether it is of this kind, has this number, and the payload that was sent. */
static bool is_expected(const struct incoming *incoming, enum incoming_kind kind, const struct message *sent,
                        uint64_t number)
{
	return incoming->kind == kind && incoming->number == number
	    && incoming->payload_length == sent->payload_length
	    && payload_is_whole(incoming->payload, incoming->payload_length, PAYLOAD_HEAD);
}

static bool answer(struct responder *responder, struct message *message, const struct incoming *request)
{
	struct peer *peer = responder->peer;
	if (peer->protocol->address_answer && !peer->protocol->address_answer(peer, message, request))
		return false;
	message_number(message, message->bytes, request->number);
	return peer_send(peer, message->bytes, message->length);
}

/* Answers all requests. If the server tells delegates how a query ended, waits until it has told all of them. */
static bool answer_all(struct responder *responder)
{
	struct peer *peer = responder->peer;
	const struct protocol *protocol = peer->protocol;
	struct trip trip;
	bool done = make_trip(&trip, protocol, peer->failure);
	uint64_t requests = responder->trips * responder->delegates;
	uint64_t conclusions = protocol->has_conclusions ? requests : 0;
	for (uint64_t answered = 0, concluded = 0; done && (answered < requests || concluded < conclusions);) {
		struct incoming incoming;
		if (!peer_next(peer, &incoming)) {
			done = false;
		} else if (is_expected(&incoming, protocol->request_kind, &trip.request,
		                       answered / responder->delegates + 1)) {
			answered++;
			done = answer(responder, &trip.answer, &incoming);
		} else if (incoming.kind == incoming_conclusion && concluded < answered) {
			concluded++;
		} else {
			done = peer_refuse(peer, &incoming, "the next request, or how the last one ended");
		}
	}
	free_trip(&trip);
	return done;
}

static void *respond(void *argument)
{
	struct responder *responder = argument;
	if (!answer_all(responder))
		peer_interrupt(responder->requester);
	return NULL;
}

static bool request_all(struct peer *peer, size_t delegates, size_t warm_up, size_t count, uint64_t *nanoseconds)
{
	const struct protocol *protocol = peer->protocol;
	struct trip trip;
	bool done = make_trip(&trip, protocol, peer->failure);
	const struct message *request = &trip.request;
	for (uint64_t number = 1; done && number <= warm_up + count; number++) {
		message_number(request, request->bytes, number);
		struct incoming incoming;
		uint64_t start = now_nanoseconds();
		done = peer_send(peer, request->bytes, request->length) && peer_next(peer, &incoming);
		uint64_t end = now_nanoseconds();
		if (!done)
			break;
		if (!is_expected(&incoming, protocol->answer_kind, &trip.answer, number)
		    || (protocol->is_answer && !protocol->is_answer(&incoming, delegates)))
			done = peer_refuse(peer, &incoming, "the answer to the last request");
		if (number > warm_up)
			nanoseconds[number - warm_up - 1] = end - start;
	}
	free_trip(&trip);
	return done;
}

static bool start(struct responder *responder, const struct protocol *protocol, const char *address,
                  struct driver_failure *failure)
{
	responder->peer = peer_connect(protocol, address, PEER_BUFFER, false, failure);
	if (!responder->peer
	    || (protocol->prepare_responder && !protocol->prepare_responder(responder->peer, responder->delegates)))
		return false;
	if (pthread_create(&responder->thread, NULL, respond, responder) != 0)
		return fail(failure, "no thread could be made");
	return responder->runs = true;
}

static int round_trips(const struct protocol *protocol, const char *address, size_t connections, size_t delegates,
                       size_t warm_up, size_t count, uint64_t *nanoseconds, struct driver_failure *failure)
{
	struct responder *all = calloc(connections, sizeof *all);
	if (!all) {
		fail(failure, "out of memory");
		return driver_failed;
	}
	struct peer *requester = peer_connect(protocol, address, PEER_BUFFER, false, failure);
	bool done = requester && (!protocol->prepare_requester || protocol->prepare_requester(requester));
	for (size_t i = 0; done && i < connections; i++) {
		all[i] = (struct responder){
			.requester = requester, .delegates = delegates, .trips = warm_up + count
		};
		done = start(&all[i], protocol, address, failure);
	}
	done = done && request_all(requester, connections * delegates, warm_up, count, nanoseconds);
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
	return done && !failure->taken ? driver_done : driver_failed;
}

int driver_round_trips(enum driver_server server, const char *address, size_t count, uint64_t *nanoseconds,
                       struct driver_failure *failure)
{
	return round_trips(protocol_of(server), address, 1, 1, driver_warm_up, count, nanoseconds, failure);
}

int driver_chain(const char *address, size_t connections, size_t delegates, size_t count,
                 uint64_t *nanoseconds, struct driver_failure *failure)
{
	return round_trips(&tribune_protocol, address, connections, delegates, driver_chain_warm_up, count,
	                   nanoseconds, failure);
}
