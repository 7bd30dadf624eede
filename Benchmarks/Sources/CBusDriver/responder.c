/* SPDX-License-Identifier: Apache-2.0
 *
 * A responder that says yes to every question. It answers programs that are measured as whole processes.
 */
#include "protocol.h"

#include <pthread.h>
#include <stdlib.h>

struct driver_responder {
	struct peer *peer;
	struct driver_failure failure;
	/* Written by the thread; read once that has ended. */
	uint64_t answered;
	pthread_t thread;
};

static bool consent(struct peer *peer, const struct incoming *request)
{
	struct message message;
	message_begin(&message);
	bool done = peer->protocol->make_consent(&message, request, peer->failure)
	    && peer_send(peer, message.bytes, message.length);
	message_free(&message);
	return done;
}

static void *respond(void *argument)
{
	struct driver_responder *responder = argument;
	struct peer *peer = responder->peer;
	struct incoming incoming;
	while (peer_next(peer, &incoming)) {
		if (incoming.kind == incoming_conclusion)
			continue;
		if (incoming.kind != peer->protocol->request_kind) {
			peer_refuse(peer, &incoming, "a request");
			break;
		}
		if (!consent(peer, &incoming))
			break;
		__atomic_add_fetch(&responder->answered, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

struct driver_responder *driver_responder_start(enum driver_server server, const char *address,
                                                struct driver_failure *failure)
{
	const struct protocol *protocol = protocol_of(server);
	if (!protocol->make_consent) {
		fail(failure, "nobody asks this server's clients anything");
		return NULL;
	}
	struct driver_responder *responder = calloc(1, sizeof *responder);
	if (!responder) {
		fail(failure, "out of memory");
		return NULL;
	}
	responder->peer = peer_connect(protocol, address, PEER_BUFFER, false, &responder->failure);
	bool done = responder->peer && protocol->prepare_responder(responder->peer, 1)
	    && (pthread_create(&responder->thread, NULL, respond, responder) == 0
	        || fail(&responder->failure, "no thread could be made"));
	if (done)
		return responder;
	fail(failure, "%s", responder->failure.text);
	peer_close(responder->peer);
	free(responder);
	return NULL;
}

int driver_responder_stop(struct driver_responder *responder, uint64_t *answered, struct driver_failure *failure)
{
	/* Interrupting the thread would count as a failure. */
	bool failed = has_failed(&responder->failure);
	if (failed)
		fail(failure, "%s", responder->failure.text);
	peer_interrupt(responder->peer);
	pthread_join(responder->thread, NULL);
	*answered = responder->answered;
	peer_close(responder->peer);
	free(responder);
	return failed ? driver_failed : driver_done;
}
