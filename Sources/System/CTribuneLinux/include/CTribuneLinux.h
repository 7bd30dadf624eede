/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations of the kernel and of libdispatch that Swift's Glibc module lacks.
 */
#pragma once

#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "memory.h"
#include "process.h"
#include "socket_options.h"

/* Swift cannot import `struct ucred`, because <sys/socket.h> declares it only under _GNU_SOURCE. */
struct tribune_ucred {
	pid_t pid;
	uid_t uid;
	gid_t gid;
};

int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict length, int flags);
int dup3(int from, int to, int flags);

/* If this header included <sys/signalfd.h>, Swift would find the C library's signals here instead of in Glibc. */
int signalfd(int fd, const sigset_t *mask, int flags);

/* If this header included <sys/timerfd.h>, Swift would find the C library's time types here instead of in Glibc. */
struct itimerspec;
int timerfd_create(int clock, int flags);
int timerfd_settime(int fd, int flags, const struct itimerspec *time, struct itimerspec *before);

/* libdispatch exports these for run loops. The handle is an eventfd, readable while the main queue has work. */
int _dispatch_get_main_queue_handle_4CF(void);
void _dispatch_main_queue_callback_4CF(void *unused);
