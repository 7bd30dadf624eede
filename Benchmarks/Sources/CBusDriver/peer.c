/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "peer.h"
#include "protocol.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const struct timeval silence_limit = { .tv_sec = SILENCE_SECONDS };

bool fail(struct driver_failure *failure, const char *format, ...)
{
	if (!__atomic_exchange_n(&failure->taken, 1, __ATOMIC_RELAXED)) {
		va_list arguments;
		va_start(arguments, format);
		vsnprintf(failure->text, sizeof failure->text, format, arguments);
		va_end(arguments);
	}
	return false;
}

const struct protocol *protocol_of(enum driver_server server)
{
	static const struct protocol *const all[] = {
		[driver_relay] = &relay_protocol,     [driver_tribune] = &tribune_protocol,
		[driver_redis] = &redis_protocol,     [driver_nats] = &nats_protocol,
		[driver_mosquitto] = &mqtt_protocol,  [driver_dbus] = &dbus_protocol,
		[driver_zmq] = &zmq_protocol,
	};
	return all[server];
}

union address {
	struct sockaddr any;
	struct sockaddr_un path;
	struct sockaddr_in port;
};

/* Returns the length of the address; 0 if the text is none. */
static socklen_t read_address(const char *text, union address *address, struct driver_failure *failure)
{
	*address = (union address){ 0 };
	if (text[0] == '/') {
		address->path.sun_family = AF_UNIX;
		if (strlen(text) >= sizeof address->path.sun_path) {
			fail(failure, "the path is too long for a socket: %s", text);
			return 0;
		}
		strcpy(address->path.sun_path, text);
		return sizeof address->path;
	}
	char *end;
	unsigned long port = strtoul(text, &end, 10);
	if (end == text || *end || port == 0 || port > UINT16_MAX) {
		fail(failure, "neither a path nor a port: %s", text);
		return 0;
	}
	address->port = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
		                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	return sizeof address->port;
}

/* A socket; -1 on failure. A TCP socket whose connection was refused cannot be used again. */
static int make_socket(int family, struct driver_failure *failure)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1) {
		fail(failure, "socket: %s", strerror(errno));
		return -1;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence_limit, sizeof silence_limit);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &silence_limit, sizeof silence_limit);
	if (family == AF_INET)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	return fd;
}

int driver_connect(const char *text, struct driver_failure *failure)
{
	union address address;
	socklen_t length = read_address(text, &address, failure);
	if (!length)
		return -1;
	uint64_t deadline = now_nanoseconds() + (uint64_t)silence_limit.tv_sec * 1000000000u;
	for (;;) {
		int fd = make_socket(address.any.sa_family, failure);
		if (fd == -1 || connect(fd, &address.any, length) == 0)
			return fd;
		int error = errno;
		close(fd);
		if ((error != ENOENT && error != ECONNREFUSED) || now_nanoseconds() > deadline) {
			fail(failure, "%s: %s", text, strerror(error));
			return -1;
		}
		usleep(2000);
	}
}

bool driver_send(int fd, const void *bytes, size_t length)
{
	return send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

bool driver_receive(int fd, void *bytes, size_t length)
{
	return recv(fd, bytes, length, MSG_WAITALL) == (ssize_t)length;
}

uint64_t driver_nanoseconds(void)
{
	return now_nanoseconds();
}

struct peer *peer_connect(const struct protocol *protocol, const char *address, size_t capacity, bool takes_files,
                          struct driver_failure *failure)
{
	struct peer *peer = calloc(1, sizeof *peer);
	uint8_t *bytes = malloc(capacity);
	if (!peer || !bytes) {
		free(peer);
		free(bytes);
		fail(failure, "out of memory");
		return NULL;
	}
	*peer = (struct peer){ .protocol = protocol, .failure = failure, .bytes = bytes, .capacity = capacity,
		               .takes_files = takes_files };
	peer->fd = driver_connect(address, failure);
	if (peer->fd == -1 || (protocol->greet && !protocol->greet(peer))) {
		peer_close(peer);
		return NULL;
	}
	return peer;
}

static void close_files(struct peer *peer, size_t count)
{
	for (size_t i = 0; i < count; i++)
		close(peer->files[i]);
	memmove(peer->files, peer->files + count, (peer->file_count - count) * sizeof *peer->files);
	peer->file_count -= count;
	peer->files_taken = 0;
}

void peer_close(struct peer *peer)
{
	if (!peer)
		return;
	close_files(peer, peer->file_count);
	if (peer->fd != -1)
		close(peer->fd);
	free(peer->bytes);
	free(peer);
}

void peer_interrupt(struct peer *peer)
{
	shutdown(peer->fd, SHUT_RDWR);
}

static bool send_failed(struct peer *peer, ssize_t count)
{
	return fail(peer->failure, "the server took no more: %s",
	            count != -1 || errno == EAGAIN ? "it did not read for 10 s" : strerror(errno));
}

bool peer_send(struct peer *peer, const uint8_t *bytes, size_t length)
{
	ssize_t count = send(peer->fd, bytes, length, MSG_NOSIGNAL);
	return count == (ssize_t)length || send_failed(peer, count);
}

bool peer_send_with_file(struct peer *peer, const uint8_t *bytes, size_t length, int file)
{
	if (file == -1)
		return peer_send(peer, bytes, length);
	union {
		struct cmsghdr header;
		uint8_t room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (void *)bytes, .iov_len = length };
	struct msghdr all = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
		              .msg_controllen = sizeof control };
	control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
		                           .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.header), &file, sizeof(int));
	ssize_t count = sendmsg(peer->fd, &all, MSG_NOSIGNAL);
	return count == (ssize_t)length || send_failed(peer, count);
}

/* Makes space in the buffer for the rest of a partial message. */
static bool make_room(struct peer *peer)
{
	size_t unread = peer->end - peer->start;
	size_t wanted = peer->wanted > unread ? peer->wanted : unread + 1;
	if (unread == 0) {
		peer->start = peer->end = 0;
	} else if (peer->capacity - peer->start < wanted || peer->capacity - peer->end < peer->capacity / 8) {
		memmove(peer->bytes, peer->bytes + peer->start, unread);
		peer->start = 0;
		peer->end = unread;
	}
	return wanted <= peer->capacity
	    || fail(peer->failure, "a message of %zu bytes came, where %zu are the most", wanted, peer->capacity);
}

static bool keep_files(struct peer *peer, struct msghdr *all)
{
	for (struct cmsghdr *header = CMSG_FIRSTHDR(all); header; header = CMSG_NXTHDR(all, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int file = LOAD(int, CMSG_DATA(header) + i * sizeof(int));
			if (peer->file_count == PEER_FILES_MAX) {
				close(file);
				return fail(peer->failure, "more than %d files came at once", PEER_FILES_MAX);
			}
			peer->files[peer->file_count++] = file;
		}
	}
	return !(all->msg_flags & MSG_CTRUNC) || fail(peer->failure, "files came that could not be taken");
}

static ssize_t receive(struct peer *peer, int flags)
{
	uint8_t *at = peer->bytes + peer->end;
	size_t room = peer->capacity - peer->end;
	if (!peer->takes_files)
		return recv(peer->fd, at, room, flags);
	union {
		struct cmsghdr header;
		uint8_t room[CMSG_SPACE(PEER_FILES_MAX * sizeof(int))];
	} control;
	struct iovec part = { .iov_base = at, .iov_len = room };
	struct msghdr all = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
		              .msg_controllen = sizeof control };
	ssize_t count = recvmsg(peer->fd, &all, flags | MSG_CMSG_CLOEXEC);
	if (count > 0 && !keep_files(peer, &all)) {
		errno = EMFILE;
		return -1;
	}
	return count;
}

static bool fill(struct peer *peer, int flags)
{
	if (!make_room(peer))
		return false;
	ssize_t count = receive(peer, flags);
	if (count == 0)
		return fail(peer->failure, "the server closed the connection");
	if (count == -1 && errno == EAGAIN && flags)
		return false;
	if (count == -1)
		return fail(peer->failure, "%s", errno == EAGAIN ? "nothing came for 10 s" : strerror(errno));
	peer->end += (size_t)count;
	return true;
}

bool peer_fill(struct peer *peer)
{
	return fill(peer, 0);
}

bool peer_fill_now(struct peer *peer)
{
	return fill(peer, MSG_DONTWAIT);
}

enum taken peer_take(struct peer *peer, struct incoming *incoming)
{
	close_files(peer, peer->files_taken);
	*incoming = (struct incoming){ .kind = incoming_nothing, .file = -1 };
	peer->wanted = 0;
	return peer->protocol->take(peer, incoming);
}

bool peer_next(struct peer *peer, struct incoming *incoming)
{
	for (;;) {
		enum taken taken = peer_take(peer, incoming);
		if (taken == taken_failure || (taken == taken_partial && !peer_fill(peer)))
			return false;
		if (taken == taken_message && incoming->kind != incoming_nothing)
			return true;
	}
}

bool peer_expect(struct peer *peer, struct incoming *incoming, enum incoming_kind kind, const char *expected)
{
	return peer_next(peer, incoming) && (incoming->kind == kind || peer_refuse(peer, incoming, expected));
}

bool peer_drain(struct peer *peer)
{
	while (peer_fill_now(peer)) {
		struct incoming incoming;
		enum taken taken;
		while ((taken = peer_take(peer, &incoming)) == taken_message)
			if (incoming.kind != incoming_nothing)
				return peer_refuse(peer, &incoming, "nothing");
		if (taken == taken_failure)
			return false;
	}
	return !has_failed(peer->failure);
}

bool peer_refuse(struct peer *peer, const struct incoming *incoming, const char *expected)
{
	static const char *const kinds[] = {
		[incoming_post] = "a post",         [incoming_call] = "a question",   [incoming_reply] = "a reply",
		[incoming_conclusion] = "an ending", [incoming_nothing] = "something",
	};
	return fail(peer->failure, "expected %s, but %s came, with the number %llu", expected, kinds[incoming->kind],
	            (unsigned long long)incoming->number);
}

int peer_take_file(struct peer *peer)
{
	return peer->files_taken < peer->file_count ? peer->files[peer->files_taken++] : -1;
}
