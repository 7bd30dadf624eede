/* SPDX-License-Identifier: Apache-2.0
 *
 * The clients of the measurements. They prepare their bytes beforehand and do little besides system calls, so that the
 * server is timed. The same workloads drive every server, each in its own protocol. Each function checks that
 * everything that was sent has arrived.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The server at the other end of the socket, which decides the protocol. */
enum driver_server {
	/* Forwards bytes between two connections; the messages have the layout of Tribune's. */
	driver_relay,
	driver_tribune,
	/* RESP3: PUBLISH and SUBSCRIBE. */
	driver_redis,
	/* PUB, SUB and MSG. */
	driver_nats,
	/* MQTT 3.1.1, QoS 0. */
	driver_mosquitto,
	/* Either of D-Bus's daemons: method calls and signals. */
	driver_dbus,
	/* ZMTP 3.0, through zmq-proxy. */
	driver_zmq,
};

enum {
	/* Bytes of a round trip's payload; through the relay, of the whole message. */
	driver_round_trip_bytes = 64,
	/* Bytes of the stream's message by which all servers are compared. */
	driver_stream_bytes = 128,
	/* The most messages in one write of a stream, which is 64 KiB long at most. */
	driver_stream_batch = 512,
	/* Round trips before the timed ones. */
	driver_warm_up = 200,
	/* Asks through a chain before the timed ones. */
	driver_chain_warm_up = 10,
	/* Observers of each name in the mixed work. */
	driver_mixed_fan_out = 10,
};

/* What the functions return. */
enum driver_result {
	driver_failed = -1,
	driver_done = 0,
	/* This server cannot do this in any configuration; nothing was sent. */
	driver_cannot = 1,
};

/* The first failure, or why the server cannot do this; otherwise empty. */
struct driver_failure {
	int taken;
	char text[256];
};

/* An `address` is the path of a Unix socket if it begins with a slash, else a TCP port on 127.0.0.1. Unless its comment
 * says otherwise, a function returns a `driver_result`, with the reason in `failure` if it is not `driver_done`. */

/* Asks and answers `count` times, one after the other, and stores how long each took. A requester's thread sends, a
 * responder's thread replies. Each has a connection, and checks the number of each trip and all of its payload.
 *
 * Through Tribune this is an `ask` with one delegate that approves; with D-Bus, a method call and its return; with
 * NATS, a request that names the subject of its reply; with ZeroMQ, a request through ROUTER and DEALER; with Redis and
 * MQTT, a publication on one channel and another one in return. */
int driver_round_trips(enum driver_server server, const char *address, size_t count, uint64_t *nanoseconds,
                       struct driver_failure *failure);

/* Does so with an `ask` to Tribune through the chain of one object: so many connections with so many delegates each,
 * which all approve. Each connection has a thread. */
int driver_chain(const char *address, size_t connections, size_t delegates, size_t count,
                 uint64_t *nanoseconds, struct driver_failure *failure);

/* Bytes of payload in a stream's message of `bytes`. Up to 1,024, `bytes` is all of Tribune's frame, if at least 16
 * are left for the payload besides its header and its name (45); otherwise it is the payload. The other servers get
 * the same name and the same payload in messages of their protocols. */
size_t driver_stream_payload(size_t bytes);

/* Sends `count` messages of `bytes`, 16 to 16 MiB, to each of `receivers` at full speed, and stores how long it took
 * until all had all. The relay has one receiver. A sender that is 4 MiB and four messages ahead of a receiver waits.
 *
 * Each receiver checks the number of each message and a byte in each of its pages, and compares every 64th as a whole.
 * If it has compared a sealed file before, it checks the number alone. Tribune gets a payload as a file in memory, made
 * beforehand, if the library would send it so. */
int driver_stream(enum driver_server server, const char *address, size_t receivers, size_t bytes,
                  uint64_t count, uint64_t *nanoseconds, struct driver_failure *failure);

/* Sends `count` messages of a stream's usual length under `names` names from `posters` connections in turns, to
 * `observers` connections, and stores how long it took until all had all. Each name has `driver_mixed_fan_out`
 * observers, and each observer the same number of names; among many names, no two have quite the same observers. Each
 * poster goes through all names in its own order. One thread sends for all posters, one receives for all observers.
 *
 * Each observer checks that it gets from each poster all that it observes, in order. The relay cannot do this. */
int driver_mixed(enum driver_server server, const char *address, size_t posters, size_t observers, size_t names,
                 uint64_t count, uint64_t *nanoseconds, struct driver_failure *failure);

/* Posts `count` times to one observer of Tribune, each time after the last post has arrived, and stores how long each
 * took. Posts either under one name, or each time under a new name, which the observer observes by a pattern. */
int driver_posts(const char *address, bool has_new_names, size_t count, uint64_t *nanoseconds,
                 struct driver_failure *failure);

/* Connections to Tribune that observe nothing that is posted here, with so many observations each: all different, of
 * literal names or of patterns with stars. NULL on failure, with the reason in `failure`. */
struct driver_crowd;
struct driver_crowd *driver_crowd_open(const char *address, size_t connections, size_t observations,
                                       bool has_stars, struct driver_failure *failure);
/* Closes all of them. Fails if one has received something, or has been closed. */
int driver_crowd_close(struct driver_crowd *crowd, struct driver_failure *failure);

/* Posts 128 bytes to Tribune so many times a second, evenly, until it is stopped. One observer reads them all. Nothing
 * else here uses its name. NULL on failure, with the reason in `failure`. */
struct driver_background;
struct driver_background *driver_background_start(const char *address, uint64_t posts_per_second,
                                                  struct driver_failure *failure);
/* Ends it, and stores how many posts were sent, and how many arrived. Fails unless all have arrived, in order. */
int driver_background_stop(struct driver_background *background, uint64_t *posted, uint64_t *received,
                           struct driver_failure *failure);

/* Says yes to every question, on its own connection and thread, until it is stopped. With Tribune, it is a delegate of
 * `bench/1` that approves `bench.shouldRun`; with D-Bus, it is `bench.Responder`, and returns a boolean from any method
 * call. NULL for other servers and on failure, with the reason in `failure`. It gives up after 10 s without a question.
 */
struct driver_responder;
struct driver_responder *driver_responder_start(enum driver_server server, const char *address,
                                                struct driver_failure *failure);
/* Ends it, and stores how many questions it has answered. */
int driver_responder_stop(struct driver_responder *responder, uint64_t *answered, struct driver_failure *failure);

/* Observes what others than the driver post to Tribune under a name, until it has `count` posts with so many bytes of
 * userInfo each. The first 8 bytes are the number of the post, from 1 on; each further byte is its offset modulo 251.
 * NULL on failure, with the reason in `failure`. */
struct driver_observer;
struct driver_observer *driver_observer_start(const char *address, const char *name, uint64_t count,
                                              size_t payload, struct driver_failure *failure);
/* Waits until it has all posts, or makes it give up; stores when it had the last, by the monotonic clock. Fails unless
 * it has all, in order and unchanged. */
int driver_observer_end(struct driver_observer *observer, bool waits, uint64_t *end,
                        struct driver_failure *failure);

/* Connects for a client with its own threads, which closes the descriptor. Nothing has been sent on it. -1 on failure,
 * with the reason in `failure`. */
int driver_connect(const char *address, struct driver_failure *failure);
/* Sends or receives exactly `length` bytes; false when the connection has ended before. */
bool driver_send(int fd, const void *bytes, size_t length);
bool driver_receive(int fd, void *bytes, size_t length);
/* The monotonic clock. */
uint64_t driver_nanoseconds(void);
