/* SPDX-License-Identifier: Apache-2.0
 *
 * The least that any process between two others costs. It pairs connections of a Unix stream socket, and forwards what
 * one sends to the other. It knows no messages, keeps no queues and checks nothing.
 *
 *     relay PATH
 *
 * It pairs connections in order of arrival. Sends block: a receiver that does not read stops the relay, which serves
 * nobody else.
 */
#define _GNU_SOURCE
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { DESCRIPTORS = 1024, EVENTS = 64, BUFFER = 64 * 1024 };

/* The other end of each connection; 0 while there is none. */
static int peer[DESCRIPTORS];
static int waiting;
static char buffer[BUFFER];

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof address.sun_path)
		errx(2, "the path is too long for a socket: %s", path);
	strcpy(address.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1 || bind(fd, (struct sockaddr *)&address, sizeof address) == -1 || listen(fd, 64) == -1)
		err(1, "%s", path);
	return fd;
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == -1)
		err(1, "epoll_ctl");
}

static void pair(int epoll, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd == -1)
		err(1, "accept4");
	if (fd >= DESCRIPTORS)
		errx(1, "too many connections");
	if (waiting) {
		peer[fd] = waiting;
		peer[waiting] = fd;
		waiting = 0;
	} else {
		waiting = fd;
	}
	watch(epoll, fd);
}

/* Closes a connection that has ended, and shuts its peer down. */
static void drop(int fd)
{
	int other = peer[fd];
	if (other) {
		peer[other] = 0;
		shutdown(other, SHUT_RDWR);
	}
	if (waiting == fd)
		waiting = 0;
	peer[fd] = 0;
	close(fd);
}

static void forward(int fd)
{
	ssize_t count = recv(fd, buffer, sizeof buffer, 0);
	if (count <= 0 || !peer[fd]) {
		drop(fd);
		return;
	}
	for (ssize_t sent = 0; sent < count;) {
		ssize_t part = send(peer[fd], buffer + sent, (size_t)(count - sent), MSG_NOSIGNAL);
		if (part == -1) {
			drop(fd);
			return;
		}
		sent += part;
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: relay PATH");
	int listener = listen_at(argv[1]);
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	if (epoll == -1)
		err(1, "epoll_create1");
	watch(epoll, listener);
	for (;;) {
		struct epoll_event events[EVENTS];
		int count = epoll_wait(epoll, events, EVENTS, -1);
		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == listener)
				pair(epoll, listener);
			else
				forward(events[i].data.fd);
		}
	}
}
