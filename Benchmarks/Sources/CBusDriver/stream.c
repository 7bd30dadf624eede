/* SPDX-License-Identifier: Apache-2.0
 *
 * As many messages as go through, one way. Each has its number as its serial, which every receiver
 * checks, as it checks that the message begins as it should; of every 64th, it compares all bytes.
 */
#include "peer.h"

#include <pthread.h>
#include <stdlib.h>

enum { RECEIVERS_MAX = 64, COMPARED_EVERY = 64 };

static const char name[] = "bench.didTick";

struct receiver {
	struct peer *peer;
	struct peer *sender;
	enum driver_server server;
	uint64_t count;
	pthread_t thread;
	bool runs;
};

static void message_make_tick(struct message *message)
{
	size_t payload = driver_stream_bytes - FRAME_HEADER - (sizeof name - 1);
	message_make(message, frame_post, "", 0, name, "", payload);
}

/* Whether all is as it was sent. The sender's id is the bus's to write. */
static bool is_whole(const uint8_t *frame, const struct message *expected, enum driver_server server)
{
	return (server == driver_relay || LOAD(uint64_t, frame + AT_SENDER) != 0)
	    && memcmp(frame + AT_FIELDS, expected->bytes + AT_FIELDS, driver_stream_bytes - AT_FIELDS) == 0;
}

static bool receive_all(struct receiver *receiver)
{
	struct message expected;
	message_make_tick(&expected);
	uint64_t opening = LOAD(uint64_t, expected.bytes);
	for (uint64_t number = 1; number <= receiver->count; number++) {
		const uint8_t *frame = peer_next(receiver->peer);
		if (!frame)
			return false;
		if (LOAD(uint64_t, frame) != opening || LOAD(uint64_t, frame + AT_SERIAL) != number)
			return peer_refuse(receiver->peer, frame, "the next notification");
		if (number % COMPARED_EVERY == 0 && !is_whole(frame, &expected, receiver->server))
			return fail(receiver->peer->failure, "notification %llu came changed", (unsigned long long)number);
	}
	return true;
}

static void *receive(void *argument)
{
	struct receiver *receiver = argument;
	if (!receive_all(receiver))
		peer_interrupt(receiver->sender);
	return NULL;
}

static bool send_all(struct peer *peer, uint64_t count)
{
	struct message tick;
	message_make_tick(&tick);
	uint8_t *batch = malloc((size_t)driver_stream_batch * driver_stream_bytes);
	if (!batch)
		return fail(peer->failure, "out of memory");
	for (size_t i = 0; i < driver_stream_batch; i++)
		memcpy(batch + i * driver_stream_bytes, tick.bytes, driver_stream_bytes);
	bool done = true;
	for (uint64_t number = 1; done && number <= count; number += driver_stream_batch) {
		for (size_t i = 0; i < driver_stream_batch; i++)
			STORE(uint64_t, batch + i * driver_stream_bytes + AT_SERIAL, number + i);
		done = peer_send(peer, batch, (size_t)driver_stream_batch * driver_stream_bytes);
	}
	free(batch);
	return done;
}

static bool observe(struct peer *peer)
{
	struct message observe;
	message_make(&observe, frame_observe, "", 0, name, "", 0);
	return peer_send(peer, observe.bytes, observe.length) && peer_expect(peer, frame_ok);
}

static bool start(struct receiver *receiver, const char *path, struct driver_failure *failure)
{
	receiver->peer = peer_connect(receiver->server, path, failure);
	if (!receiver->peer || (receiver->server == driver_tribune && !observe(receiver->peer)))
		return false;
	if (pthread_create(&receiver->thread, NULL, receive, receiver) != 0)
		return fail(failure, "no thread could be made");
	return receiver->runs = true;
}

int driver_stream(enum driver_server server, const char *path, size_t receivers, uint64_t count,
                  uint64_t *nanoseconds, struct driver_failure *failure)
{
	struct receiver all[RECEIVERS_MAX] = { 0 };
	if (receivers > RECEIVERS_MAX || (server == driver_relay && receivers != 1)) {
		fail(failure, "this server cannot have %zu receivers here", receivers);
		return -1;
	}
	struct peer *sender = peer_connect(server, path, failure);
	if (!sender)
		return -1;
	bool done = true;
	for (size_t i = 0; done && i < receivers; i++) {
		all[i] = (struct receiver){ .sender = sender, .server = server, .count = count };
		done = start(&all[i], path, failure);
	}
	uint64_t begin = now_nanoseconds();
	done = done && send_all(sender, count);
	for (size_t i = 0; i < receivers; i++) {
		if (!done && all[i].peer)
			peer_interrupt(all[i].peer);
		if (all[i].runs)
			pthread_join(all[i].thread, NULL);
	}
	*nanoseconds = now_nanoseconds() - begin;
	for (size_t i = 0; i < receivers; i++)
		peer_close(all[i].peer);
	peer_close(sender);
	return done && !failure->taken ? 0 : -1;
}
