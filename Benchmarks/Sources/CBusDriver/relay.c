/* SPDX-License-Identifier: Apache-2.0
 *
 * The relay has no protocol. It gets frames whose name and payload are as long as those for Tribune, so that both move
 * as many bytes. Only a round trip's message has 64 bytes in all.
 */
#include "frame.h"

static enum taken take(struct peer *peer, struct incoming *incoming)
{
	enum taken taken = frame_take(peer, incoming);
	if (taken != taken_message)
		return taken;
	incoming->kind = incoming_post;
	incoming->number_at = AT_SERIAL;
	incoming->number = LOAD(uint64_t, incoming->bytes + AT_SERIAL);
	return taken_message;
}

static bool make_post(struct message *message, const char *name, size_t payload, struct driver_failure *failure)
{
	frame_make(message, frame_post, "", 0, name, "", payload);
	message->number_at = AT_SERIAL;
	return message_is_made(message, failure);
}

static bool make_trip(struct message *message, struct driver_failure *failure)
{
	return make_post(message, "", driver_round_trip_bytes - FRAME_HEADER, failure);
}

/* The relay forwards everything, so there is nothing to send. */
static bool observe(struct peer *peer, const char *const *names, size_t count)
{
	(void)names;
	return count == 1 || fail(peer->failure, "the relay knows no names");
}

const struct protocol relay_protocol = {
	.take = take,
	.observe = observe,
	.make_post = make_post,
	.receivers_max = 1,
	.payload_max = UINT32_MAX - 1024,
	.request_kind = incoming_post,
	.answer_kind = incoming_post,
	.make_request = make_trip,
	.make_answer = make_trip,
};
