/* SPDX-License-Identifier: Apache-2.0
 *
 * The clients of the measurements: bytes prepared beforehand, and as little as can be around the system calls, so
 * that the server is what is timed. The same workloads drive every server, each in its own protocol. Each function
 * checks that what was sent arrived.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who is at the other end of the socket, and so what is spoken. */
enum driver_server {
	/* Forwards bytes between two connections; the messages are laid out as the bus's. */
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
};

enum {
	/* Bytes of a round trip's payload; through the relay, of all of its message. */
	driver_round_trip_bytes = 64,
	/* Bytes of a stream's message that is compared everywhere. */
	driver_stream_bytes = 128,
	/* Messages in one write of a stream, of those that are no longer than this many in 64 KiB. */
	driver_stream_batch = 512,
	/* Round trips that are made before those that are timed. */
	driver_warm_up = 200,
	/* Likewise, for the asks through a chain. */
	driver_chain_warm_up = 10,
	/* Observers that each name has in the mixed work. */
	driver_mixed_fan_out = 10,
};

/* What the functions return. */
enum driver_result {
	driver_failed = -1,
	driver_done = 0,
	/* This server cannot do this, however it is set up; nothing was sent. */
	driver_cannot = 1,
};

/* What went wrong first, or why the server cannot; empty if nothing did. */
struct driver_failure {
	int taken;
	char text[256];
};

/* An `address` is the path of a Unix socket if it begins with a slash, else a TCP port on 127.0.0.1. Unless it is
 * said otherwise, a function returns a `driver_result`, with the reason in `failure` if it is not `driver_done`. */

/* Asks and answers `count` times, one after the other, and stores how long each took. A requester's thread sends, a
 * responder's thread replies. Either has a connection, and checks the number of each trip and all of its payload.
 *
 * Through Tribune this is an `ask` with one delegate that approves; with D-Bus, a method call and its return; with
 * NATS, a request that names the subject of its reply; with Redis and MQTT, a publication on one channel and one on
 * another in return. */
int driver_round_trips(enum driver_server server, const char *address, size_t count, uint64_t *nanoseconds,
                       struct driver_failure *failure);

/* Likewise, with an `ask` to Tribune through a chain of one object: so many connections with so many delegates each,
 * all of which approve. Each connection is a thread. */
int driver_chain(const char *address, size_t connections, size_t delegates, size_t count,
                 uint64_t *nanoseconds, struct driver_failure *failure);

/* Bytes of payload in a stream's message of `bytes`. Up to 1,024, `bytes` is all of Tribune's frame, if at least 16
 * are left for the payload besides its header and its name (45); otherwise it is the payload. The other servers are
 * sent the same name and the same payload, with what their protocols put around them. */
size_t driver_stream_payload(size_t bytes);

/* Sends `count` messages of `bytes`, 16 to 16 MiB, to each of `receivers`, as fast as they go, and stores how long
 * it took until all had all. The relay has one receiver. A sender that is 4 MiB ahead of a receiver, and four
 * messages, waits for it.
 *
 * Each receiver checks the number of each message and a byte in each of its pages, and compares all of every 64th. Of a
 * sealed file that it has compared, it looks at the number alone.
 * To Tribune, payloads that the library would send as a file in memory are sent as one, which is made beforehand. */
int driver_stream(enum driver_server server, const char *address, size_t receivers, size_t bytes,
                  uint64_t count, uint64_t *nanoseconds, struct driver_failure *failure);

/* Sends `count` messages of a stream's usual length under `names` names from `posters` connections in turns, to
 * `observers` connections; stores how long it took until all had all. Each name has `driver_mixed_fan_out`
 * observers, no two names quite the same ones if there are many, and each observer as many names. Each poster goes
 * through all names, in an order of its own. One thread sends for all posters, one receives for all observers.
 *
 * Each observer checks of each poster that it has what it observes, in order and all of it. The relay cannot. */
int driver_mixed(enum driver_server server, const char *address, size_t posters, size_t observers, size_t names,
                 uint64_t count, uint64_t *nanoseconds, struct driver_failure *failure);

/* Posts `count` times to one observer of Tribune's, each when the last has arrived, and stores how long each took:
 * under one name, or each under a name that nobody has posted before, which the observer observes by a pattern. */
int driver_posts(const char *address, bool has_new_names, size_t count, uint64_t *nanoseconds,
                 struct driver_failure *failure);

/* Connections to Tribune that want nothing of what is sent here, with so many observations each, all different, of
 * literal names or with stars. NULL on failure, with the reason in `failure`. */
struct driver_crowd;
struct driver_crowd *driver_crowd_open(const char *address, size_t connections, size_t observations,
                                       bool has_stars, struct driver_failure *failure);
/* Closes all of them. Fails when one has been sent something, or has ended. */
int driver_crowd_close(struct driver_crowd *crowd, struct driver_failure *failure);

/* Posts 128 bytes to Tribune, so many times a second and evenly, to one observer who reads them all, until it is
 * stopped. Nobody else here uses its names. NULL on failure, with the reason in `failure`. */
struct driver_background;
struct driver_background *driver_background_start(const char *address, uint64_t posts_per_second,
                                                  struct driver_failure *failure);
/* Ends it, stores how many were posted, and how many of them had arrived when the last one had. Fails when that is
 * not all, and in order. */
int driver_background_stop(struct driver_background *background, uint64_t *posted, uint64_t *received,
                           struct driver_failure *failure);

/* Says yes to whatever it is asked, on a connection and a thread of its own, until it is stopped: through Tribune a
 * delegate of `bench/1` that approves `bench.shouldRun`; with D-Bus, `bench.Responder`, who returns a boolean to any
 * method call. NULL for other servers and on failure, with the reason in `failure`. It gives up when nobody has asked
 * for 10 s. */
struct driver_responder;
struct driver_responder *driver_responder_start(enum driver_server server, const char *address,
                                                struct driver_failure *failure);
/* Ends it, and stores how many it has answered. */
int driver_responder_stop(struct driver_responder *responder, uint64_t *answered, struct driver_failure *failure);

/* For posters that are not the driver's. Observes what is posted to Tribune under a name, until it has `count` posts
 * with so many bytes of userInfo each: the number of the post in its first 8 bytes, from 1 on, and behind them
 * each byte is its offset's remainder by 251. NULL on failure, with the reason in `failure`. */
struct driver_observer;
struct driver_observer *driver_observer_start(const char *address, const char *name, uint64_t count,
                                              size_t payload, struct driver_failure *failure);
/* Waits until it has all, or makes it give up; stores when it had the last, by the monotonic clock. Fails when it has
 * not all, in order and unchanged. */
int driver_observer_end(struct driver_observer *observer, bool waits, uint64_t *end,
                        struct driver_failure *failure);

/* For clients that have threads of their own. A connection on which nothing has been said, for whoever drives it
 * from outside and closes the descriptor; -1 with the reason in `failure`. */
int driver_connect(const char *address, struct driver_failure *failure);
/* Sends or receives exactly `length` bytes; false when the connection has ended before. */
bool driver_send(int fd, const void *bytes, size_t length);
bool driver_receive(int fd, void *bytes, size_t length);
/* The monotonic clock. */
uint64_t driver_nanoseconds(void);
