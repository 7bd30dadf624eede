/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS = 128 };

static bool read_one(struct reader *reader)
{
	while (!reader->is_done)
		if (!peer_fill(reader->peer) || !reader->advance(reader))
			return false;
	return true;
}

static bool watch(int epoll, struct reader *const *readers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.ptr = readers[i] };
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, readers[i]->peer->fd, &event) == -1)
			return fail(readers[i]->peer->failure, "epoll_ctl: %s", strerror(errno));
	}
	return true;
}

/* Reads each ready connection once, so that none gets ahead of the others. */
static bool read_ready(int epoll, size_t *left, struct driver_failure *failure)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(epoll, events, EVENTS, SILENCE_SECONDS * 1000);
	if (count == 0 || (count == -1 && errno != EINTR))
		return fail(failure, "%s", count == 0 ? "nothing came for 10 s" : strerror(errno));
	for (int i = 0; i < count; i++) {
		struct reader *reader = events[i].data.ptr;
		if (!peer_fill(reader->peer) || !reader->advance(reader))
			return false;
		if (!reader->is_done)
			continue;
		*left -= 1;
		epoll_ctl(epoll, EPOLL_CTL_DEL, reader->peer->fd, NULL);
	}
	return true;
}

bool read_all(struct reader *const *readers, size_t count)
{
	if (count == 1)
		return read_one(readers[0]);
	struct driver_failure *failure = readers[0]->peer->failure;
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll == -1)
		return fail(failure, "epoll_create1: %s", strerror(errno));
	size_t left = 0;
	for (size_t i = 0; i < count; i++)
		left += !readers[i]->is_done;
	bool done = watch(epoll, readers, count);
	while (done && left > 0)
		done = !has_failed(failure) && read_ready(epoll, &left, failure);
	close(epoll);
	return done;
}

void *read_on_thread(void *reader)
{
	read_one(reader);
	return NULL;
}
