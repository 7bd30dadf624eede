/* SPDX-License-Identifier: Apache-2.0
 *
 * Many connections that want nothing of what is posted, and posts beside them, one at a time: poster →
 * server → observer.
 */
#include "peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static const char name[] = "bench.didPost";
static const char new_names[] = "bench.new.*";

struct driver_crowd {
	size_t count;
	int fds[];
};

/* None of them matches a name that is posted here, but each begins as those do, or could. */
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

static bool observe(struct peer *peer, uint64_t serial, const char *pattern)
{
	struct message observe;
	message_make(&observe, frame_observe, "", 0, pattern, "", 0);
	STORE(uint64_t, observe.bytes + AT_SERIAL, serial);
	return peer_send(peer, observe.bytes, observe.length);
}

/* One connection of the crowd; -1 on failure. */
static int join(const char *path, size_t connection, size_t observations, bool has_stars,
                struct driver_failure *failure)
{
	struct peer *peer = peer_connect(driver_tribune, path, failure);
	if (!peer)
		return -1;
	bool done = true;
	for (size_t i = 0; done && i < observations; i++) {
		char pattern[FRAME_NAME_MAX + 1];
		make_pattern(pattern, sizeof pattern, has_stars, connection, i);
		done = observe(peer, i + 1, pattern);
	}
	for (size_t i = 0; done && i < observations; i++)
		done = peer_expect(peer, frame_ok);
	int fd = done ? dup(peer->fd) : -1;
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

struct driver_crowd *driver_crowd_open(const char *path, size_t connections, size_t observations,
                                       bool has_stars, struct driver_failure *failure)
{
	struct driver_crowd *crowd = calloc(1, sizeof *crowd + connections * sizeof *crowd->fds);
	if (!crowd) {
		fail(failure, "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < connections; i++) {
		crowd->fds[i] = join(path, i, observations, has_stars, failure);
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
	return done ? 0 : -1;
}

static bool is_post(const uint8_t *frame, const struct message *expected)
{
	size_t begin = FRAME_HEADER, length = expected->length - begin;
	return frame[AT_KIND] == frame_post && LOAD(uint32_t, frame) == expected->length
	    && LOAD(uint64_t, frame + AT_SERIAL) == LOAD(uint64_t, expected->bytes + AT_SERIAL)
	    && memcmp(frame + begin, expected->bytes + begin, length) == 0;
}

static bool post_all(struct peer *poster, struct peer *observer, bool has_new_names, size_t count,
                     uint64_t *nanoseconds)
{
	for (uint64_t trip = 1; trip <= driver_warm_up + count; trip++) {
		char new_name[FRAME_NAME_MAX + 1];
		snprintf(new_name, sizeof new_name, "bench.new.n%08llu", (unsigned long long)trip);
		struct message post;
		message_make(&post, frame_post, "", 0, has_new_names ? new_name : name, "", driver_round_trip_bytes);
		STORE(uint64_t, post.bytes + AT_SERIAL, trip);
		uint64_t start = now_nanoseconds();
		const uint8_t *frame = peer_send(poster, post.bytes, post.length) ? peer_next(observer) : NULL;
		uint64_t end = now_nanoseconds();
		if (!frame)
			return false;
		if (!is_post(frame, &post))
			return peer_refuse(observer, frame, "the notification that was posted");
		if (trip > driver_warm_up)
			nanoseconds[trip - driver_warm_up - 1] = end - start;
	}
	return true;
}

int driver_posts(const char *path, bool has_new_names, size_t count, uint64_t *nanoseconds,
                 struct driver_failure *failure)
{
	struct peer *observer = peer_connect(driver_tribune, path, failure);
	struct peer *poster = observer ? peer_connect(driver_tribune, path, failure) : NULL;
	bool done = poster && observe(observer, 1, has_new_names ? new_names : name)
	    && peer_expect(observer, frame_ok)
	    && post_all(poster, observer, has_new_names, count, nanoseconds);
	peer_close(poster);
	peer_close(observer);
	return done ? 0 : -1;
}
