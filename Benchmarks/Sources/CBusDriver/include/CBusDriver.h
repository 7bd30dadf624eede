/* SPDX-License-Identifier: Apache-2.0
 *
 * The clients of the measurements: blocking sends and receives, one thread a connection, the wire's
 * bytes prepared beforehand. The same code drives the bus and the bare relay, so that the server in
 * between is all that differs. Each function checks that what was sent arrived.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who is at the other end of the socket. */
enum driver_server {
	/* Forwards bytes between two connections; the messages are of 64 bytes. */
	driver_relay,
	/* Speaks the protocol. */
	driver_tribune,
};

enum {
	/* Bytes of a round trip's message through the relay, and of the userInfo of an ask. */
	driver_round_trip_bytes = 64,
	/* Bytes of a stream's message, all of it. */
	driver_stream_bytes = 128,
	/* Messages in one write of a stream: `count` must be a multiple. */
	driver_stream_batch = 512,
	/* Round trips that are made before those that are timed. */
	driver_warm_up = 200,
	/* Likewise, for the asks through a chain. */
	driver_chain_warm_up = 10,
};

/* What went wrong first; empty if nothing did. */
struct driver_failure {
	int taken;
	char text[256];
};

/* Asks and answers `count` times, one after the other, and stores how long each took. A requester's
 * thread sends, a responder's thread replies. Through the bus this is an `ask` with one delegate that
 * approves. Returns 0, or -1 with the reason in `failure`. */
int driver_round_trips(enum driver_server server, const char *path, size_t count, uint64_t *nanoseconds,
                       struct driver_failure *failure);

/* Likewise, with an `ask` through a chain of one object: so many connections with so many delegates each, all
 * of which approve. Each connection is a thread. */
int driver_chain(const char *path, size_t connections, size_t delegates, size_t count,
                 uint64_t *nanoseconds, struct driver_failure *failure);

/* Sends `count` messages one way to each of `receivers`, and stores how long it took until all had
 * all. Through the bus these are notifications; the relay has one receiver. Returns 0, or -1 with the
 * reason in `failure`. */
int driver_stream(enum driver_server server, const char *path, size_t receivers, uint64_t count,
                  uint64_t *nanoseconds, struct driver_failure *failure);

/* Posts `count` times to one observer, each when the last has arrived, and stores how long each took: under
 * one name, or each under a name that nobody has posted before, which the observer observes by a pattern.
 * Returns 0, or -1 with the reason in `failure`. */
int driver_posts(const char *path, bool has_new_names, size_t count, uint64_t *nanoseconds,
                 struct driver_failure *failure);

/* Connections that want nothing of what is sent here, with so many observations each, all different, of
 * literal names or with stars. NULL on failure, with the reason in `failure`. */
struct driver_crowd;
struct driver_crowd *driver_crowd_open(const char *path, size_t connections, size_t observations,
                                       bool has_stars, struct driver_failure *failure);
/* Closes all of them. Returns 0, or -1 with the reason in `failure`: when one has been sent something, or
 * has ended. */
int driver_crowd_close(struct driver_crowd *crowd, struct driver_failure *failure);

/* For clients that have threads of their own. A relay's connection, for whoever drives it from outside
 * and closes the descriptor; -1 with the reason in `failure`. */
int driver_connect(const char *path, struct driver_failure *failure);
/* Sends or receives exactly `length` bytes; false when the connection has ended before. */
bool driver_send(int fd, const void *bytes, size_t length);
bool driver_receive(int fd, void *bytes, size_t length);
/* The monotonic clock. */
uint64_t driver_nanoseconds(void);
