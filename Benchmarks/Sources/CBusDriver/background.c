/* SPDX-License-Identifier: Apache-2.0
 *
 * Background posts at a given rate, while something else is measured. Each millisecond, the poster sends what is due.
 * If it has fallen behind, it catches up, so that the rate holds in the long run.
 */
#define _GNU_SOURCE
#include "frame.h"
#include "reader.h"

#include <pthread.h>
#include <stdlib.h>

enum { BATCH = 512, TICK = 1000000, SECOND = 1000000000 };

static const char name[] = "bench.background";

struct driver_background {
	struct reader reader;
	struct peer *poster;
	struct driver_failure failure;
	struct message batch, post;
	uint64_t posts_per_second;
	/* Each is written by one thread, and read once that has ended. `posted` counts posts before they are sent. */
	uint64_t posted, received;
	int stops;
	pthread_t posting, receiving;
	bool posts, receives;
};

static bool has_stopped(struct driver_background *background)
{
	return __atomic_load_n(&background->stops, __ATOMIC_ACQUIRE) || has_failed(&background->failure);
}

/* Posts what is due, in as few writes as possible. */
static bool post_until(struct driver_background *background, uint64_t due)
{
	const struct message *post = &background->post;
	while (background->posted < due) {
		uint64_t count = due - background->posted < BATCH ? due - background->posted : BATCH;
		for (uint64_t i = 0; i < count; i++)
			message_number(post, background->batch.bytes + i * post->length, background->posted + i + 1);
		if (!peer_send(background->poster, background->batch.bytes, count * post->length))
			return false;
		background->posted += count;
	}
	return true;
}

static void *post_evenly(void *argument)
{
	struct driver_background *background = argument;
	uint64_t begin = now_nanoseconds();
	bool done = true;
	for (uint64_t tick = 1; done && !has_stopped(background); tick++) {
		uint64_t at = begin + tick * TICK;
		struct timespec until = { .tv_sec = (time_t)(at / SECOND), .tv_nsec = (long)(at % SECOND) };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		uint64_t elapsed = (now_nanoseconds() - begin) / TICK;
		done = post_until(background, elapsed * background->posts_per_second * TICK / SECOND)
		    && peer_drain(background->poster);
	}
	/* A last post, which is not counted, ends the observer. */
	if (done) {
		STORE(uint8_t, background->batch.bytes + background->post.payload_at, 1);
		message_number(&background->post, background->batch.bytes, background->posted + 1);
		peer_send(background->poster, background->batch.bytes, background->post.length);
	}
	return NULL;
}

static bool advance(struct reader *reader)
{
	struct driver_background *background = (struct driver_background *)reader;
	size_t length = background->post.payload_length;
	struct incoming incoming;
	enum taken taken;
	while ((taken = peer_take(reader->peer, &incoming)) == taken_message) {
		if (incoming.kind != incoming_post || incoming.number != background->received + 1
		    || incoming.payload_length != length)
			return peer_refuse(reader->peer, &incoming, "the next post of the background");
		if (incoming.payload[0] == 1) {
			reader->is_done = true;
			return true;
		}
		if (!payload_is_whole(incoming.payload, length, 0))
			return fail(reader->peer->failure, "a post of the background came changed");
		background->received++;
	}
	return taken != taken_failure;
}

static bool prepare(struct driver_background *background, const char *address)
{
	const struct protocol *protocol = &tribune_protocol;
	struct driver_failure *failure = &background->failure;
	const char *const names[] = { name };
	size_t payload = driver_stream_bytes - FRAME_HEADER - (sizeof name - 1);
	if (!protocol->make_post(&background->post, name, payload, failure))
		return false;
	for (size_t i = 0; i < BATCH; i++)
		message_add(&background->batch, background->post.bytes, background->post.length);
	background->reader.peer = peer_connect(protocol, address, PEER_BUFFER, false, failure);
	if (!background->reader.peer || !protocol->observe(background->reader.peer, names, 1))
		return false;
	background->poster = peer_connect(protocol, address, PEER_BUFFER, false, failure);
	return message_is_made(&background->batch, failure) && background->poster;
}

static void release(struct driver_background *background)
{
	peer_close(background->poster);
	peer_close(background->reader.peer);
	message_free(&background->batch);
	message_free(&background->post);
	free(background);
}

static void join(struct driver_background *background)
{
	__atomic_store_n(&background->stops, 1, __ATOMIC_RELEASE);
	if (background->posts)
		pthread_join(background->posting, NULL);
	if (has_failed(&background->failure) && background->receives)
		peer_interrupt(background->reader.peer);
	if (background->receives)
		pthread_join(background->receiving, NULL);
}

struct driver_background *driver_background_start(const char *address, uint64_t posts_per_second,
                                                  struct driver_failure *failure)
{
	struct driver_background *background = calloc(1, sizeof *background);
	if (!background) {
		fail(failure, "out of memory");
		return NULL;
	}
	background->reader.advance = advance;
	background->posts_per_second = posts_per_second;
	message_begin(&background->batch);
	message_begin(&background->post);
	bool done = prepare(background, address);
	background->receives = done
	    && pthread_create(&background->receiving, NULL, read_on_thread, &background->reader) == 0;
	background->posts = background->receives
	    && pthread_create(&background->posting, NULL, post_evenly, background) == 0;
	if (background->posts)
		return background;
	fail(&background->failure, "no thread could be made");
	*failure = background->failure;
	join(background);
	release(background);
	return NULL;
}

int driver_background_stop(struct driver_background *background, uint64_t *posted, uint64_t *received,
                           struct driver_failure *failure)
{
	join(background);
	*posted = background->posted;
	*received = background->received;
	if (background->received != background->posted)
		fail(&background->failure, "%llu of %llu posts of the background arrived",
		     (unsigned long long)background->received, (unsigned long long)background->posted);
	bool done = !has_failed(&background->failure);
	if (!done)
		*failure = background->failure;
	release(background);
	return done ? driver_done : driver_failed;
}
