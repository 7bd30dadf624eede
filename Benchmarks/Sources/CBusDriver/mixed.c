/* SPDX-License-Identifier: Apache-2.0
 *
 * Many posters, observers and names. A payload has the index of its poster, the number of the post, and the index of
 * the name. An observer accepts only names that it observes, and from each poster only rising numbers. So when it has
 * as many posts as it is to get, it has all of them, once and in order.
 */
#define _GNU_SOURCE
#include "reader.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
	COMPARED_EVERY = 64,
	/* Posts in one write. */
	BATCH = 64,
	/* After so many writes, a poster takes what the server has sent. */
	DRAINED_EVERY = 16,
	/* The most posts under way: see stream.c. */
	AHEAD = 64 * 1024,
	CONNECTIONS_MAX = 4096,
	NAMES_MAX = 65536,
	NAME_SIZE = 32,
	BUFFER = 64 * 1024,
	/* Offsets in a payload. */
	AT_POSTER = 8,
	AT_NAME_INDEX = 12,
};

struct work;

struct poster {
	struct peer *peer;
	/* The order in which it posts the names. */
	uint32_t *order;
	/* How many it posts, and the next number. */
	uint64_t count, next;
	/* A batch, and how much of it has been sent. */
	struct message batch;
	size_t sent;
	uint64_t writes;
};

struct observer {
	struct reader reader;
	struct work *work;
	/* The names that it observes. */
	bool *wants;
	/* The last number that it has from each poster. */
	uint64_t *last;
	uint64_t received, expected;
};

struct work {
	const struct protocol *protocol;
	struct driver_failure *failure;
	size_t posters, observers, names;
	uint64_t count;
	char (*texts)[NAME_SIZE];
	struct message *posts;
	size_t payload;
	struct poster *poster;
	struct observer *observer;
	/* Deliveries to all observers; the posters read it. */
	uint64_t delivered;
};

/* xorshift64*: each poster has its own order, the same in each run. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545F4914F6CDD1Du;
}

static void shuffle(uint32_t *order, size_t count, uint64_t seed)
{
	uint64_t state = seed + 1;
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	for (size_t i = count - 1; i > 0; i--) {
		size_t other = (next_random(&state) >> 32) % (i + 1);
		uint32_t moved = order[i];
		order[i] = order[other];
		order[other] = moved;
	}
}

/* Each tenth of the observers has one observer of a name, at an index that differs with the name. So all observers have
 * the same number of names, and two names that share one observer do not share the others. */
static size_t observer_of(const struct work *work, size_t name, size_t which)
{
	size_t band = work->observers / driver_mixed_fan_out, in_band = name % band;
	return (name / band + which * band + in_band * which % band) % work->observers;
}

/* Decides what each poster posts, and what each observer gets. */
static void plan(struct work *work)
{
	for (size_t name = 0; name < work->names; name++)
		for (size_t i = 0; i < driver_mixed_fan_out; i++)
			work->observer[observer_of(work, name, i)].wants[name] = true;
	for (size_t i = 0; i < work->posters; i++) {
		struct poster *poster = &work->poster[i];
		shuffle(poster->order, work->names, i);
		poster->next = 1;
		poster->count = work->count / work->posters + (i < work->count % work->posters);
		for (uint64_t number = 0; number < poster->count; number++)
			for (size_t j = 0; j < driver_mixed_fan_out; j++)
				work->observer[observer_of(work, poster->order[number % work->names], j)].expected++;
	}
	for (size_t i = 0; i < work->observers; i++)
		work->observer[i].reader.is_done = work->observer[i].expected == 0;
}

static bool make_posts(struct work *work)
{
	for (size_t i = 0; i < work->names; i++) {
		snprintf(work->texts[i], NAME_SIZE, "bench.n%06zu", i);
		if (!work->protocol->make_post(&work->posts[i], work->texts[i], work->payload, work->failure))
			return false;
	}
	return true;
}

/* Receiving. */

static bool check(struct observer *observer, const struct incoming *incoming)
{
	const struct work *work = observer->work;
	struct driver_failure *failure = work->failure;
	if (incoming->kind != incoming_post || incoming->payload_length != work->payload)
		return peer_refuse(observer->reader.peer, incoming, "a post");
	uint32_t index = LOAD(uint32_t, incoming->payload + AT_POSTER);
	uint32_t name = LOAD(uint32_t, incoming->payload + AT_NAME_INDEX);
	uint64_t number = incoming->number;
	if (index >= work->posters || name >= work->names)
		return fail(failure, "a post came changed");
	const struct poster *poster = &work->poster[index];
	if (number <= observer->last[index])
		return fail(failure, "post %llu of a poster came behind his post %llu", (unsigned long long)number,
		            (unsigned long long)observer->last[index]);
	if (number > poster->count || poster->order[(number - 1) % work->names] != name)
		return fail(failure, "post %llu of a poster came with another's name", (unsigned long long)number);
	if (!observer->wants[name])
		return fail(failure, "a post came under a name that the observer does not observe");
	if (number % COMPARED_EVERY == 0
	    && (incoming->name_length != strlen(work->texts[name])
	        || memcmp(incoming->name, work->texts[name], incoming->name_length) != 0
	        || !payload_is_whole(incoming->payload, incoming->payload_length, PAYLOAD_HEAD)))
		return fail(failure, "post %llu of a poster came changed", (unsigned long long)number);
	observer->last[index] = number;
	return true;
}

static bool advance(struct reader *reader)
{
	struct observer *observer = (struct observer *)reader;
	uint64_t before = observer->received;
	struct incoming incoming;
	enum taken taken;
	while ((taken = peer_take(reader->peer, &incoming)) == taken_message) {
		if (incoming.kind == incoming_nothing)
			continue;
		if (!check(observer, &incoming))
			return false;
		observer->received++;
	}
	/* There cannot be more: `check` has refused repeated and unwanted posts. */
	reader->is_done = observer->received == observer->expected;
	__atomic_fetch_add(&observer->work->delivered, observer->received - before, __ATOMIC_RELAXED);
	return taken != taken_failure;
}

static void *receive(void *argument)
{
	struct work *work = argument;
	struct reader **readers = calloc(work->observers, sizeof *readers);
	if (!readers) {
		fail(work->failure, "out of memory");
		return NULL;
	}
	for (size_t i = 0; i < work->observers; i++)
		readers[i] = &work->observer[i].reader;
	read_all(readers, work->observers);
	free(readers);
	return NULL;
}

/* Sending. */

static void fill_batch(struct work *work, size_t index)
{
	struct poster *poster = &work->poster[index];
	struct message *batch = &poster->batch;
	batch->length = poster->sent = 0;
	for (size_t i = 0; i < BATCH && poster->next <= poster->count; i++, poster->next++) {
		uint32_t name = poster->order[(poster->next - 1) % work->names];
		const struct message *post = &work->posts[name];
		size_t at = batch->length;
		message_add(batch, post->bytes, post->length);
		if (batch->is_short)
			return;
		STORE(uint32_t, batch->bytes + at + post->payload_at + AT_POSTER, index);
		STORE(uint32_t, batch->bytes + at + post->payload_at + AT_NAME_INDEX, name);
		message_number(post, batch->bytes + at, poster->next);
	}
}

static bool is_sent(const struct poster *poster)
{
	return poster->next > poster->count && poster->sent == poster->batch.length;
}

/* Writes as much of the batch as the socket takes. Fills a new batch if the last one is sent. */
static bool write_some(struct work *work, size_t index)
{
	struct poster *poster = &work->poster[index];
	if (poster->sent == poster->batch.length) {
		fill_batch(work, index);
		poster->writes++;
	}
	if (!message_is_made(&poster->batch, work->failure))
		return false;
	const struct message *batch = &poster->batch;
	ssize_t count = send(poster->peer->fd, batch->bytes + poster->sent, batch->length - poster->sent,
	                     MSG_NOSIGNAL | MSG_DONTWAIT);
	if (count == -1 && errno != EAGAIN)
		return fail(work->failure, "the server took no more: %s", strerror(errno));
	poster->sent += count > 0 ? (size_t)count : 0;
	if (poster->writes % DRAINED_EVERY == 0 || is_sent(poster))
		return peer_drain(poster->peer);
	return true;
}

/* Whether few enough posts are under way. The caller looks again soon if not. */
static bool may_go_on(const struct work *work)
{
	uint64_t posted = 0;
	for (size_t i = 0; i < work->posters; i++)
		posted += work->poster[i].next - 1;
	return posted - __atomic_load_n(&work->delivered, __ATOMIC_RELAXED) / driver_mixed_fan_out < AHEAD;
}

static bool write_all(struct work *work)
{
	struct pollfd *waiting = calloc(work->posters, sizeof *waiting);
	if (!waiting)
		return fail(work->failure, "out of memory");
	bool done = true;
	for (size_t left = work->posters; done && left > 0;) {
		for (; !has_failed(work->failure) && !may_go_on(work);)
			poll(NULL, 0, 1);
		left = 0;
		for (size_t i = 0; i < work->posters; i++) {
			bool waits = !is_sent(&work->poster[i]);
			int fd = waits ? work->poster[i].peer->fd : -1;
			waiting[i] = (struct pollfd){ .fd = fd, .events = POLLOUT };
			left += waits;
		}
		int ready = left ? poll(waiting, work->posters, SILENCE_SECONDS * 1000) : 1;
		if (ready == 0 || (ready == -1 && errno != EINTR))
			done = fail(work->failure, "the server read nothing for 10 s");
		done = done && !has_failed(work->failure);
		for (size_t i = 0; done && i < work->posters; i++)
			if (waiting[i].revents)
				done = write_some(work, i);
	}
	free(waiting);
	return done;
}

/* Setting up and tearing down. */

static bool connect_all(struct work *work, const char *address)
{
	const struct protocol *protocol = work->protocol;
	const char **names = calloc(work->names, sizeof *names);
	bool done = names || fail(work->failure, "out of memory");
	for (size_t i = 0; done && i < work->observers; i++) {
		struct observer *observer = &work->observer[i];
		size_t count = 0;
		for (size_t name = 0; name < work->names; name++)
			if (observer->wants[name])
				names[count++] = work->texts[name];
		observer->reader.peer = peer_connect(protocol, address, BUFFER, false, work->failure);
		done = observer->reader.peer && protocol->observe(observer->reader.peer, names, count);
	}
	for (size_t i = 0; done && i < work->posters; i++) {
		struct peer *peer = peer_connect(protocol, address, BUFFER, false, work->failure);
		work->poster[i].peer = peer;
		done = peer && (!protocol->prepare_poster || protocol->prepare_poster(peer));
	}
	free(names);
	return done;
}

static bool allocate(struct work *work)
{
	work->texts = calloc(work->names, sizeof *work->texts);
	work->posts = calloc(work->names, sizeof *work->posts);
	work->poster = calloc(work->posters, sizeof *work->poster);
	work->observer = calloc(work->observers, sizeof *work->observer);
	bool done = work->texts && work->posts && work->poster && work->observer;
	for (size_t i = 0; done && i < work->names; i++)
		message_begin(&work->posts[i]);
	for (size_t i = 0; done && i < work->posters; i++) {
		message_begin(&work->poster[i].batch);
		done = (work->poster[i].order = calloc(work->names, sizeof *work->poster[i].order)) != NULL;
	}
	for (size_t i = 0; done && i < work->observers; i++) {
		struct observer *observer = &work->observer[i];
		observer->reader.advance = advance;
		observer->work = work;
		observer->wants = calloc(work->names, sizeof *observer->wants);
		observer->last = calloc(work->posters, sizeof *observer->last);
		done = observer->wants && observer->last;
	}
	return done || fail(work->failure, "out of memory");
}

static void release(struct work *work)
{
	for (size_t i = 0; work->posts && i < work->names; i++)
		message_free(&work->posts[i]);
	for (size_t i = 0; work->poster && i < work->posters; i++) {
		peer_close(work->poster[i].peer);
		message_free(&work->poster[i].batch);
		free(work->poster[i].order);
	}
	for (size_t i = 0; work->observer && i < work->observers; i++) {
		peer_close(work->observer[i].reader.peer);
		free(work->observer[i].wants);
		free(work->observer[i].last);
	}
	free(work->texts);
	free(work->posts);
	free(work->poster);
	free(work->observer);
}

static bool run(struct work *work, uint64_t *nanoseconds)
{
	pthread_t thread;
	uint64_t begin = now_nanoseconds();
	if (pthread_create(&thread, NULL, receive, work) != 0)
		return fail(work->failure, "no thread could be made");
	bool done = write_all(work);
	for (size_t i = 0; !done && i < work->observers; i++)
		peer_interrupt(work->observer[i].reader.peer);
	pthread_join(thread, NULL);
	*nanoseconds = now_nanoseconds() - begin;
	return done && !has_failed(work->failure);
}

int driver_mixed(enum driver_server server, const char *address, size_t posters, size_t observers, size_t names,
                 uint64_t count, uint64_t *nanoseconds, struct driver_failure *failure)
{
	struct work work = { .protocol = protocol_of(server), .failure = failure, .posters = posters,
		             .observers = observers, .names = names, .count = count,
		             .payload = driver_stream_payload(driver_stream_bytes) };
	if (work.protocol->receivers_max) {
		fail(failure, "there are no names here");
		return driver_cannot;
	}
	bool are_counts_right = posters >= 1 && posters <= CONNECTIONS_MAX && observers >= driver_mixed_fan_out
	    && observers <= CONNECTIONS_MAX && observers % driver_mixed_fan_out == 0 && names >= observers
	    && names <= NAMES_MAX && names % observers == 0;
	if (!are_counts_right) {
		fail(failure, "observers have to be a multiple of %d, and names one of those",
		     driver_mixed_fan_out);
		return driver_failed;
	}
	bool done = allocate(&work) && make_posts(&work);
	if (done)
		plan(&work);
	done = done && connect_all(&work, address) && run(&work, nanoseconds);
	release(&work);
	return done ? driver_done : driver_failed;
}
