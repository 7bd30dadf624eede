/* SPDX-License-Identifier: Apache-2.0
 *
 * What a workload has to know of a server's language. Each language is a table of these functions in a file of its
 * own, and the workloads are written once on top.
 */
#pragma once

#include "message.h"
#include "peer.h"

/* A whole message that came in. It is valid until the next one is taken. */
struct incoming {
	enum incoming_kind kind;
	const uint8_t *bytes;
	size_t length;
	/* The name that a post came under. */
	const uint8_t *name;
	size_t name_length;
	/* Its payload; when a file holds it, so many bytes of that. The file is the peer's to close. */
	const uint8_t *payload;
	size_t payload_length;
	int file;
	/* Where in `bytes` its number is, and that number; posts and calls have one. */
	size_t number_at;
	uint64_t number;
	/* What an answer has to name. */
	const uint8_t *return_address;
	size_t return_address_length;
};

struct protocol {
	/* Says hello, and returns when the server will have understood everything that comes behind. */
	bool (*greet)(struct peer *peer);
	/* Finds the next whole message in what was received, and takes it. For a partial one it stores in
	 * `peer->wanted` how long it will be, if that can be told. What the server should never say is a failure. */
	enum taken (*take)(struct peer *peer, struct incoming *incoming);

	/* The connection will post, and wants to hear no more of it than need be; NULL for nothing to do. */
	bool (*prepare_poster)(struct peer *peer);
	/* Wants the posts under these names, and returns when the server knows. */
	bool (*observe)(struct peer *peer, const char *const *names, size_t count);
	/* A post under a name, with a payload of so many bytes; not begun yet. */
	bool (*make_post)(struct message *message, const char *name, size_t payload, struct driver_failure *failure);
	/* Bytes of payload from which on it goes in a file; 0 for never. */
	size_t file_min;
	/* How many can receive what one posts; 0 for any number. */
	size_t receivers_max;
	/* Bytes of payload that are the most. */
	size_t payload_max;

	/* The round trip. Who asks and who answers, with so many delegates on that connection. */
	bool (*prepare_requester)(struct peer *peer);
	bool (*prepare_responder)(struct peer *peer, size_t delegates);
	/* As what a request and an answer come in. */
	enum incoming_kind request_kind, answer_kind;
	/* Whether the responder is told how each question ended. */
	bool has_conclusions;
	bool (*make_request)(struct message *message, struct driver_failure *failure);
	bool (*make_answer)(struct message *message, struct driver_failure *failure);
	/* Makes the answer one to this request; NULL when all answers go the same way. */
	bool (*address_answer)(struct peer *peer, struct message *answer, const struct incoming *request);
	/* A yes to a request that some program makes, in its own words; NULL where programs cannot ask. */
	bool (*make_consent)(struct message *message, const struct incoming *request, struct driver_failure *failure);
	/* Whether it is what so many delegates' answers are to come to; NULL when it has the same payload. */
	bool (*is_answer)(const struct incoming *incoming, size_t delegates);
};

extern const struct protocol relay_protocol, tribune_protocol, redis_protocol, nats_protocol, mqtt_protocol,
    dbus_protocol;

const struct protocol *protocol_of(enum driver_server server);
