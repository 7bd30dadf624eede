/* SPDX-License-Identifier: Apache-2.0
 *
 * As many messages as go through, one way. Every receiver checks the number of each message, and compares the first and
 * every 64th as a whole. Of short ones in between, it only compares the first bytes and the number, so that the server
 * is timed and not the receiver.
 */
#define _GNU_SOURCE
#include "reader.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

enum {
	RECEIVERS_MAX = 2000,
	/* Up to so many receivers have their own threads. */
	THREADS_MAX = 10,
	COMPARED_EVERY = 64,
	/* Bytes of a write, unless a message is longer. */
	WRITE = 64 * 1024,
	/* How far the sender may be ahead of a receiver, in bytes or messages, whichever is more. Not every server
	 * holds a sender up, and one whose memory fills would be timed for that: with so much they are fastest. */
	AHEAD = 4 * 1024 * 1024,
	AHEAD_MESSAGES = 4,
	/* After so many writes, the sender takes what the server has sent. */
	DRAINED_EVERY = 16,
	/* Bytes of Tribune's frame besides the payload, and of the longest that is counted as a whole. */
	AROUND = 45,
	WHOLE_MAX = 1024,
};

static const char name[] = "bench.didTick";

/* The common form of all short messages; the length is 0 before the first one. */
struct shape {
	size_t length;
	size_t number_at;
	uint64_t opening;
};

struct receiver {
	struct reader reader;
	size_t payload;
	uint64_t count;
	/* The next number. */
	uint64_t next;
	struct shape shape;
	/* The last number that it has; the sender reads it. */
	uint64_t received;
	/* The file that was compared last. */
	dev_t file_device;
	ino_t file_number;
};

/* Receivers that share a thread. */
struct group {
	struct reader *readers[RECEIVERS_MAX / THREADS_MAX];
	size_t count;
	struct peer *sender;
	pthread_t thread;
	bool runs;
};

size_t driver_stream_payload(size_t bytes)
{
	return bytes >= AROUND + PAYLOAD_HEAD && bytes <= WHOLE_MAX ? bytes - AROUND : bytes;
}

/* Maps the file as the library would: only after it is certain that it cannot be changed or cut. A sealed file that was
 * compared before needs no second look. */
static bool is_file_whole(struct receiver *receiver, const struct incoming *incoming, bool compares)
{
	struct peer *peer = receiver->reader.peer;
	struct stat status;
	if (fstat(incoming->file, &status) == -1 || status.st_size != (off_t)incoming->payload_length)
		return fail(peer->failure, "a file came that is not as long as was said");
	bool is_known = status.st_dev == receiver->file_device && status.st_ino == receiver->file_number;
	if (is_known && !compares)
		return true;
	int seals = fcntl(incoming->file, F_GET_SEALS);
	if (seals == -1 || (seals & FILE_SEALS) != FILE_SEALS)
		return fail(peer->failure, "a file came that is not sealed");
	void *bytes = mmap(NULL, incoming->payload_length, PROT_READ, MAP_PRIVATE, incoming->file, 0);
	if (bytes == MAP_FAILED)
		return fail(peer->failure, "a file cannot be mapped");
	bool is_whole = payload_is_whole(bytes, incoming->payload_length, 0);
	receiver->file_device = status.st_dev;
	receiver->file_number = status.st_ino;
	munmap(bytes, incoming->payload_length);
	return is_whole;
}

static bool is_whole(struct receiver *receiver, const struct incoming *incoming, bool compares)
{
	if (incoming->payload_length != receiver->payload || incoming->name_length != sizeof name - 1
	    || memcmp(incoming->name, name, sizeof name - 1) != 0)
		return false;
	if (incoming->file != -1)
		return is_file_whole(receiver, incoming, compares);
	return compares ? payload_is_whole(incoming->payload, incoming->payload_length, PAYLOAD_HEAD)
	                : payload_pages_are_whole(incoming->payload, incoming->payload_length, PAYLOAD_HEAD);
}

/* Takes consecutive messages out of the buffer, up to the one before `limit`. Returns the first number that it has not
 * taken. */
static uint64_t skim(struct peer *peer, const struct shape *shape, uint64_t number, uint64_t limit)
{
	const uint8_t *at = peer->bytes + peer->start, *end = peer->bytes + peer->end;
	while (number < limit && (size_t)(end - at) >= shape->length && LOAD(uint64_t, at) == shape->opening
	       && LOAD(uint64_t, at + shape->number_at) == number) {
		at += shape->length;
		number++;
	}
	peer->start = (size_t)(at - peer->bytes);
	return number;
}

/* Checks one message, and learns the shape of the others from it. */
static bool check(struct receiver *receiver, const struct incoming *incoming)
{
	struct peer *peer = receiver->reader.peer;
	uint64_t number = receiver->next;
	if (incoming->kind != incoming_post || incoming->number != number) {
		char expected[48];
		snprintf(expected, sizeof expected, "the post %llu", (unsigned long long)number);
		return peer_refuse(peer, incoming, expected);
	}
	if (!is_whole(receiver, incoming, number == 1 || number % COMPARED_EVERY == 0))
		return fail(peer->failure, "the post %llu came changed", (unsigned long long)number);
	if (incoming->file == -1 && incoming->payload_length < PAGE)
		receiver->shape = (struct shape){ .length = incoming->length, .number_at = incoming->number_at,
			                          .opening = LOAD(uint64_t, incoming->bytes) };
	return true;
}

static bool advance(struct reader *reader)
{
	struct receiver *receiver = (struct receiver *)reader;
	enum taken taken = taken_message;
	while (receiver->next <= receiver->count) {
		uint64_t compared = (receiver->next + COMPARED_EVERY - 1) / COMPARED_EVERY * COMPARED_EVERY;
		uint64_t limit = compared <= receiver->count ? compared : receiver->count + 1;
		if (receiver->shape.length && receiver->next < limit) {
			receiver->next = skim(reader->peer, &receiver->shape, receiver->next, limit);
			if (receiver->next == limit)
				continue;
		}
		struct incoming incoming;
		taken = peer_take(reader->peer, &incoming);
		if (taken != taken_message)
			break;
		if (incoming.kind == incoming_nothing)
			continue;
		if (!check(receiver, &incoming))
			return false;
		receiver->next++;
	}
	reader->is_done = receiver->next > receiver->count;
	__atomic_store_n(&receiver->received, receiver->next - 1, __ATOMIC_RELAXED);
	return taken != taken_failure;
}

static void *receive(void *argument)
{
	struct group *group = argument;
	if (!read_all(group->readers, group->count))
		peer_interrupt(group->sender);
	return NULL;
}

/* Waits while a receiver is too far behind. False when something has failed meanwhile. */
static bool wait_for(const struct receiver *all, size_t count, uint64_t number)
{
	for (size_t i = 0; i < count; i++)
		while (__atomic_load_n(&all[i].received, __ATOMIC_RELAXED) < number) {
			if (has_failed(all[i].reader.peer->failure))
				return false;
			nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
		}
	return true;
}

/* Messages in one write. A message with a file is sent alone. */
static size_t batch_of(const struct message *message)
{
	size_t batch = message->file == -1 ? WRITE / message->length : 1;
	return batch < 1 ? 1 : batch > driver_stream_batch ? driver_stream_batch : batch;
}

/* The message, and a batch of copies for one write; one with a file has a single copy. */
struct load {
	struct message message, batch;
	size_t copies;
};

static bool make_load(struct load *load, const struct protocol *protocol, size_t payload,
                      struct driver_failure *failure)
{
	message_begin(&load->message);
	message_begin(&load->batch);
	if (!protocol->make_post(&load->message, name, payload, failure))
		return false;
	load->copies = batch_of(&load->message);
	for (size_t i = 0; i < load->copies; i++)
		message_add(&load->batch, load->message.bytes, load->message.length);
	return message_is_made(&load->batch, failure);
}

static void free_load(struct load *load)
{
	message_free(&load->message);
	message_free(&load->batch);
}

static bool send_all(struct peer *peer, const struct load *load, const struct receiver *all, size_t receivers,
                     uint64_t count)
{
	const struct message *message = &load->message;
	uint64_t ahead = AHEAD / message->length < AHEAD_MESSAGES ? AHEAD_MESSAGES : AHEAD / message->length;
	for (uint64_t number = 1, writes = 1; number <= count; writes++) {
		uint64_t some = count - number + 1 < load->copies ? count - number + 1 : load->copies;
		for (uint64_t i = 0; i < some; i++)
			message_number(message, load->batch.bytes + i * message->length, number + i);
		number += some;
		if (number > ahead && !wait_for(all, receivers, number - ahead))
			return false;
		if (!peer_send_with_file(peer, load->batch.bytes, some * message->length, message->file))
			return false;
		if (writes % DRAINED_EVERY == 0 && !peer_drain(peer))
			return false;
	}
	return peer_drain(peer);
}

static bool join(struct receiver *receiver, const struct protocol *protocol, const char *address,
                 bool is_one_of_many, struct driver_failure *failure)
{
	bool takes_files = protocol->file_min && receiver->payload >= protocol->file_min;
	size_t usual = is_one_of_many ? PEER_BUFFER_SPARE : PEER_BUFFER;
	size_t needed = takes_files ? 0 : receiver->payload + PEER_BUFFER_SPARE;
	receiver->reader.peer = peer_connect(protocol, address, needed < usual ? usual : needed, takes_files,
	                                     failure);
	const char *const names[] = { name };
	return receiver->reader.peer && protocol->observe(receiver->reader.peer, names, 1);
}

/* Whether the server can do this. */
static bool can_stream(const struct protocol *protocol, size_t receivers, size_t payload,
                       struct driver_failure *failure)
{
	size_t most = protocol->receivers_max ? protocol->receivers_max : RECEIVERS_MAX;
	if (receivers < 1 || receivers > most)
		return fail(failure, "there cannot be %zu receivers here", receivers);
	if (payload < PAYLOAD_HEAD || payload > protocol->payload_max)
		return fail(failure, "there cannot be %zu bytes of payload here, but %d to %zu", payload,
		            PAYLOAD_HEAD, protocol->payload_max);
	return true;
}

static bool join_all(struct receiver *all, size_t count, const struct protocol *protocol, const char *address,
                     struct driver_failure *failure)
{
	for (size_t i = 0; i < count; i++)
		if (!join(&all[i], protocol, address, count > THREADS_MAX, failure))
			return false;
	return true;
}

/* Distributes the receivers over groups, and starts a thread for each group. */
static bool start_groups(struct group *groups, struct receiver *all, size_t count, struct peer *sender,
                         struct driver_failure *failure)
{
	for (size_t i = 0; i < count; i++) {
		struct group *group = &groups[i % THREADS_MAX];
		group->sender = sender;
		group->readers[group->count++] = &all[i].reader;
	}
	for (size_t i = 0; i < THREADS_MAX && groups[i].count; i++)
		if (pthread_create(&groups[i].thread, NULL, receive, &groups[i]) != 0)
			return fail(failure, "no thread could be made");
		else
			groups[i].runs = true;
	return true;
}

static void end_groups(struct group *groups, bool interrupts)
{
	for (size_t i = 0; i < THREADS_MAX; i++) {
		for (size_t j = 0; interrupts && j < groups[i].count; j++)
			peer_interrupt(groups[i].readers[j]->peer);
		if (groups[i].runs)
			pthread_join(groups[i].thread, NULL);
	}
}

static bool stream(const struct protocol *protocol, const char *address, struct receiver *all,
                   struct group *groups, size_t receivers, uint64_t *nanoseconds,
                   struct driver_failure *failure)
{
	struct load load;
	bool done = make_load(&load, protocol, all[0].payload, failure);
	struct peer *sender = done ? peer_connect(protocol, address, PEER_BUFFER, false, failure) : NULL;
	done = sender && (!protocol->prepare_poster || protocol->prepare_poster(sender))
	    && join_all(all, receivers, protocol, address, failure)
	    && start_groups(groups, all, receivers, sender, failure);
	uint64_t begin = now_nanoseconds();
	done = done && send_all(sender, &load, all, receivers, all[0].count);
	end_groups(groups, !done);
	*nanoseconds = now_nanoseconds() - begin;
	for (size_t i = 0; i < receivers; i++)
		peer_close(all[i].reader.peer);
	peer_close(sender);
	free_load(&load);
	return done && !has_failed(failure);
}

int driver_stream(enum driver_server server, const char *address, size_t receivers, size_t bytes,
                  uint64_t count, uint64_t *nanoseconds, struct driver_failure *failure)
{
	const struct protocol *protocol = protocol_of(server);
	size_t payload = driver_stream_payload(bytes);
	if (!can_stream(protocol, receivers, payload, failure))
		return driver_cannot;
	struct receiver *all = calloc(receivers, sizeof *all);
	struct group *groups = calloc(THREADS_MAX, sizeof *groups);
	bool done = (all && groups) || fail(failure, "out of memory");
	for (size_t i = 0; done && i < receivers; i++)
		all[i] = (struct receiver){
			.reader.advance = advance, .payload = payload, .count = count, .next = 1
		};
	done = done && stream(protocol, address, all, groups, receivers, nanoseconds, failure);
	free(groups);
	free(all);
	return done ? driver_done : driver_failed;
}
