/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface between workloads and protocols. Each protocol is a table of these functions in its own file; the
 * workloads are written once.
 */
#pragma once

#include "message.h"
#include "peer.h"

/* A whole received message. It is valid until the next one is taken. */
struct incoming {
	enum incoming_kind kind;
	const uint8_t *bytes;
	size_t length;
	/* The name of a post. */
	const uint8_t *name;
	size_t name_length;
	/* The payload; if `file` is not -1, it lies there. The peer closes the file. */
	const uint8_t *payload;
	size_t payload_length;
	int file;
	/* The number of a post or a call, and its offset in `bytes`. */
	size_t number_at;
	uint64_t number;
	/* The address that an answer must have. */
	const uint8_t *return_address;
	size_t return_address_length;
};

struct protocol {
	/* Says hello, and returns when the server is ready for anything else. */
	bool (*greet)(struct peer *peer);
	/* Takes the next whole message out of the peer's buffer. If it is partial, stores its length in `peer->wanted`
	 * once that is known. A message that the server should never send is a failure. */
	enum taken (*take)(struct peer *peer, struct incoming *incoming);

	/* Prepares a connection that posts, and has the server reply as little as possible; NULL for nothing to do. */
	bool (*prepare_poster)(struct peer *peer);
	/* Observes these names, and returns when the server does so. */
	bool (*observe)(struct peer *peer, const char *const *names, size_t count);
	/* Makes a post under a name, with a payload of so many bytes, in a message that was not begun yet. */
	bool (*make_post)(struct message *message, const char *name, size_t payload, struct driver_failure *failure);
	/* The least bytes of payload that are sent as a file; 0 for never. */
	size_t file_min;
	/* The most receivers of a post; 0 for any number. */
	size_t receivers_max;
	/* The most bytes of payload. */
	size_t payload_max;

	/* Prepare the two connections of a round trip, the responder's with so many delegates. */
	bool (*prepare_requester)(struct peer *peer);
	bool (*prepare_responder)(struct peer *peer, size_t delegates);
	/* The kinds of a received request and answer. */
	enum incoming_kind request_kind, answer_kind;
	/* Whether the server tells the responder how each question ended. */
	bool has_conclusions;
	bool (*make_request)(struct message *message, struct driver_failure *failure);
	bool (*make_answer)(struct message *message, struct driver_failure *failure);
	/* Addresses the answer to this request; NULL if all answers go to the same address. */
	bool (*address_answer)(struct peer *peer, struct message *answer, const struct incoming *request);
	/* Makes a yes to a request of another program; NULL if programs cannot ask. */
	bool (*make_consent)(struct message *message, const struct incoming *request, struct driver_failure *failure);
	/* Whether it is the result of so many delegates' answers; NULL if it has the payload of one answer. */
	bool (*is_answer)(const struct incoming *incoming, size_t delegates);
};

extern const struct protocol relay_protocol, tribune_protocol, redis_protocol, nats_protocol, mqtt_protocol,
    dbus_protocol, zmq_protocol;

const struct protocol *protocol_of(enum driver_server server);
