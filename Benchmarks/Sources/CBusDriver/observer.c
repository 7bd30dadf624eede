/* SPDX-License-Identifier: Apache-2.0
 *
 * An observer of what others than the driver post.
 */
#include "frame.h"
#include "reader.h"

#include <pthread.h>
#include <stdlib.h>

enum { NUMBER = 8, PERIOD = 251 };

struct driver_observer {
	struct reader reader;
	struct driver_failure failure;
	uint64_t count, received, end;
	size_t payload;
	pthread_t thread;
	bool runs;
};

static bool is_whole(const struct driver_observer *observer, const struct incoming *incoming)
{
	if (incoming->payload_length != observer->payload
	    || LOAD(uint64_t, incoming->payload) != observer->received + 1)
		return false;
	for (size_t i = NUMBER; i < observer->payload; i++)
		if (incoming->payload[i] != i % PERIOD)
			return false;
	return true;
}

static bool advance(struct reader *reader)
{
	struct driver_observer *observer = (struct driver_observer *)reader;
	struct incoming incoming;
	enum taken taken;
	while ((taken = peer_take(reader->peer, &incoming)) == taken_message) {
		if (incoming.kind != incoming_post || !is_whole(observer, &incoming))
			return peer_refuse(reader->peer, &incoming, "the next post of another's");
		if (++observer->received == observer->count) {
			observer->end = now_nanoseconds();
			reader->is_done = true;
			return true;
		}
	}
	return taken != taken_failure;
}

struct driver_observer *driver_observer_start(const char *address, const char *name, uint64_t count,
                                              size_t payload, struct driver_failure *failure)
{
	const struct protocol *protocol = &tribune_protocol;
	const char *const names[] = { name };
	struct driver_observer *observer = calloc(1, sizeof *observer);
	if (!observer) {
		fail(failure, "out of memory");
		return NULL;
	}
	observer->reader.advance = advance;
	observer->count = count;
	observer->payload = payload;
	observer->reader.peer = peer_connect(protocol, address, PEER_BUFFER, false, &observer->failure);
	if (payload < NUMBER)
		fail(&observer->failure, "there is no room for a number in %zu bytes", payload);
	else if (observer->reader.peer && protocol->observe(observer->reader.peer, names, 1))
		observer->runs = pthread_create(&observer->thread, NULL, read_on_thread, &observer->reader) == 0;
	if (observer->runs)
		return observer;
	fail(&observer->failure, "no thread could be made");
	*failure = observer->failure;
	peer_close(observer->reader.peer);
	free(observer);
	return NULL;
}

int driver_observer_end(struct driver_observer *observer, bool waits, uint64_t *end,
                        struct driver_failure *failure)
{
	if (!waits)
		peer_interrupt(observer->reader.peer);
	pthread_join(observer->thread, NULL);
	bool done = !has_failed(&observer->failure);
	*end = observer->end;
	if (!done)
		*failure = observer->failure;
	peer_close(observer->reader.peer);
	free(observer);
	return done ? driver_done : driver_failed;
}
