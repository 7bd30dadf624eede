/* SPDX-License-Identifier: Apache-2.0
 *
 * Many connections that observe nothing that is posted, and posts beside them, one at a time: poster → server →
 * observer.
 */
#include "frame.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static const char name[] = "bench.didPost";
static const char new_names[] = "bench.new.*";

/* A connection of a crowd receives only the server's greeting. */
enum { JOINING_BUFFER = 4096 };

struct driver_crowd {
	size_t count;
	int fds[];
};

/* No pattern matches a name that is posted here, but each shares a part with one, or has a star for it. */
static void make_pattern(char *pattern, size_t size, bool has_stars, size_t connection, size_t observation)
{
	static const char *const with_stars[] = {
		"bench.c%zu-%zu.**", "*.c%zu-%zu", "*.*.c%zu-%zu", "bench.*.c%zu-%zu.*",
	};
	static const char *const literal[] = {
		"bench.c%zu-%zu", "bench.new.c%zu-%zu", "other.c%zu-%zu.didPost", "c%zu-%zu.didPost",
	};
	const char *const *formats = has_stars ? with_stars : literal;
	snprintf(pattern, size, formats[observation % 4], connection, observation);
}

static bool observe_patterns(struct peer *peer, size_t connection, size_t observations, bool has_stars)
{
	enum { SIZE = FRAME_NAME_MAX + 1 };
	char *patterns = calloc(observations + 1, SIZE);
	const char **each = calloc(observations + 1, sizeof *each);
	bool done = (patterns && each) || fail(peer->failure, "out of memory");
	for (size_t i = 0; done && i < observations; i++) {
		make_pattern(patterns + i * SIZE, SIZE, has_stars, connection, i);
		each[i] = patterns + i * SIZE;
	}
	done = done && tribune_protocol.observe(peer, each, observations);
	free(each);
	free(patterns);
	return done;
}

/* One connection of the crowd; -1 on failure. */
static int join(const char *address, size_t connection, size_t observations, bool has_stars,
                struct driver_failure *failure)
{
	struct peer *peer = peer_connect(&tribune_protocol, address, JOINING_BUFFER, false, failure);
	if (!peer)
		return -1;
	bool done = observe_patterns(peer, connection, observations, has_stars);
	int fd = done ? fcntl(peer->fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (done && fd == -1)
		fail(failure, "connection %zu: %s", connection, strerror(errno));
	peer_close(peer);
	return fd;
}

static void disperse(struct driver_crowd *crowd)
{
	for (size_t i = 0; i < crowd->count; i++)
		close(crowd->fds[i]);
	free(crowd);
}

struct driver_crowd *driver_crowd_open(const char *address, size_t connections, size_t observations,
                                       bool has_stars, struct driver_failure *failure)
{
	struct driver_crowd *crowd = calloc(1, sizeof *crowd + connections * sizeof *crowd->fds);
	if (!crowd) {
		fail(failure, "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < connections; i++) {
		crowd->fds[i] = join(address, i, observations, has_stars, failure);
		if (crowd->fds[i] == -1) {
			disperse(crowd);
			return NULL;
		}
		crowd->count++;
	}
	return crowd;
}

int driver_crowd_close(struct driver_crowd *crowd, struct driver_failure *failure)
{
	bool done = true;
	for (size_t i = 0; done && i < crowd->count; i++) {
		uint8_t byte;
		ssize_t count = recv(crowd->fds[i], &byte, 1, MSG_DONTWAIT);
		if (count != -1)
			done = fail(failure, "%s connection %zu, which wanted nothing",
			            count == 0 ? "the server closed" : "something came on", i);
		else if (errno != EAGAIN)
			done = fail(failure, "connection %zu: %s", i, strerror(errno));
	}
	disperse(crowd);
	return done ? driver_done : driver_failed;
}

static bool is_post(const struct incoming *incoming, const struct message *posted, uint64_t number)
{
	const uint8_t *name = posted->bytes + FRAME_HEADER;
	size_t name_length = posted->payload_at - FRAME_HEADER;
	return incoming->kind == incoming_post && incoming->number == number
	    && incoming->length == posted->length && incoming->name_length == name_length
	    && memcmp(incoming->name, name, name_length) == 0
	    && payload_is_whole(incoming->payload, incoming->payload_length, 0);
}

static bool post_all(struct peer *poster, struct peer *observer, bool has_new_names, size_t count,
                     uint64_t *nanoseconds)
{
	bool done = true;
	for (uint64_t trip = 1; done && trip <= driver_warm_up + count; trip++) {
		char new_name[FRAME_NAME_MAX + 1];
		snprintf(new_name, sizeof new_name, "bench.new.n%08llu", (unsigned long long)trip);
		struct message post;
		struct incoming incoming;
		done = tribune_protocol.make_post(&post, has_new_names ? new_name : name, driver_round_trip_bytes,
		                                  poster->failure);
		if (done) {
			message_number(&post, post.bytes, trip);
			uint64_t start = now_nanoseconds();
			done = peer_send(poster, post.bytes, post.length) && peer_next(observer, &incoming);
			uint64_t end = now_nanoseconds();
			if (trip > driver_warm_up)
				nanoseconds[trip - driver_warm_up - 1] = end - start;
		}
		if (done && !is_post(&incoming, &post, trip))
			done = peer_refuse(observer, &incoming, "the post as it was posted");
		message_free(&post);
	}
	return done;
}

int driver_posts(const char *address, bool has_new_names, size_t count, uint64_t *nanoseconds,
                 struct driver_failure *failure)
{
	const struct protocol *protocol = &tribune_protocol;
	struct peer *observer = peer_connect(protocol, address, PEER_BUFFER, false, failure);
	struct peer *poster = observer ? peer_connect(protocol, address, PEER_BUFFER, false, failure) : NULL;
	const char *const names[] = { has_new_names ? new_names : name };
	bool done = poster && protocol->observe(observer, names, 1)
	    && post_all(poster, observer, has_new_names, count, nanoseconds);
	peer_close(poster);
	peer_close(observer);
	return done ? driver_done : driver_failed;
}
