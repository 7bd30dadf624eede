/* SPDX-License-Identifier: Apache-2.0
 *
 * The bus's other system calls, and the service manager.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"

static uint64_t now_nanoseconds = 1000000000000;
static uint64_t tick_nanoseconds;
uint64_t sim_dead_nanoseconds;

static void pass(uint64_t nanoseconds)
{
	if (sim_has_died)
		sim_dead_nanoseconds += nanoseconds;
	else
		now_nanoseconds += nanoseconds;
}

static int alarm_descriptor = -1;
static uint64_t alarm_due;

void sim_reset_alarm(void)
{
	alarm_due = 0;
	alarm_descriptor = -1;
}

/* MARK: What is waited for */

void sim_set_clock(uint64_t nanoseconds, uint64_t tick)
{
	now_nanoseconds = nanoseconds;
	tick_nanoseconds = tick;
}

uint64_t sim_clock(void) { return now_nanoseconds; }

int epoll_wait(int descriptor, struct epoll_event *ready, int most, int timeout)
{
	if (!sim_is_inside())
		return (int)syscall(SYS_epoll_wait, descriptor, ready, most, timeout);
	int count = (int)syscall(SYS_epoll_wait, descriptor, ready, most, 0);
	if (count > 1 && sim_goes_wrong(sim_wanted.reorder)) {
		for (int index = count - 1; index > 0; index--) {
			int other = (int)(sim_random() % (uint64_t)(index + 1));
			struct epoll_event event = ready[index];
			ready[index] = ready[other];
			ready[other] = event;
		}
		count = 1 + (int)(sim_random() % (uint64_t)count);
	}
	if (count <= 0)
		sim_note(SIM_IDLE, 0, 0, NULL, 0);
	return count;
}

int epoll_ctl(int descriptor, int operation, int target, struct epoll_event *event)
{
	if (sim_is_inside() && sim_has_died)
		return 0;
	return (int)syscall(SYS_epoll_ctl, descriptor, operation, target, event);
}

int timerfd_create(clockid_t clock, int flags)
{
	if (!sim_is_inside())
		return (int)syscall(SYS_timerfd_create, clock, flags);
	alarm_due = 0;
	return alarm_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *time, struct itimerspec *before)
{
	if (!sim_is_inside())
		return (int)syscall(SYS_timerfd_settime, descriptor, flags, time, before);
	alarm_due = now_nanoseconds + (uint64_t)time->it_value.tv_nsec;
	return 0;
}

uint64_t sim_alarm(void) { return alarm_due; }

void sim_ring(void)
{
	if (!alarm_due || alarm_due > now_nanoseconds)
		return;
	alarm_due = 0;
	uint64_t one = 1;
	if (write(alarm_descriptor, &one, sizeof one) == -1)
		abort();
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (!sim_is_inside() && !sim_is_keeper)
		return (int)syscall(SYS_clock_gettime, clock, time);
	uint64_t nanoseconds = now_nanoseconds + (sim_has_died && !sim_is_keeper ? sim_dead_nanoseconds : 0);
	if (!sim_is_keeper)
		now_nanoseconds += tick_nanoseconds;
	if (clock == CLOCK_REALTIME)
		nanoseconds += 1700000000000000000;
	time->tv_sec = (time_t)(nanoseconds / 1000000000);
	time->tv_nsec = (long)(nanoseconds % 1000000000);
	return 0;
}

/* MARK: Descriptors and memory */

int fcntl(int descriptor, int command, ...)
{
	va_list arguments;
	va_start(arguments, command);
	long argument = va_arg(arguments, long);
	va_end(arguments);
	if (sim_is_inside() && command == F_DUPFD_CLOEXEC && sim_goes_wrong(sim_wanted.no_descriptor)) {
		sim_note(SIM_REFUSED, 0, 0, NULL, 0);
		return sim_fail(EMFILE);
	}
	return (int)syscall(SYS_fcntl, descriptor, command, argument);
}

int fcntl64(int descriptor, int command, ...) __attribute__((alias("fcntl")));

int ioctl(int descriptor, unsigned long request, ...)
{
	va_list arguments;
	va_start(arguments, request);
	void *argument = va_arg(arguments, void *);
	va_end(arguments);
	if (sim_is_inside() && sim_has_died) {
		*(int *)argument = 0;
		return 0;
	}
	return (int)syscall(SYS_ioctl, descriptor, request, argument);
}

int memfd_create(const char *name, unsigned int flags)
{
	if (sim_is_inside() && sim_goes_wrong(sim_wanted.no_memory)) {
		sim_note(SIM_REFUSED, 0, 0, NULL, 0);
		return sim_fail(sim_random() % 2 ? ENOMEM : EMFILE);
	}
	return (int)syscall(SYS_memfd_create, name, flags);
}

int fallocate(int descriptor, int mode, off_t offset, off_t length)
{
	if (!sim_is_inside())
		return (int)syscall(SYS_fallocate, descriptor, mode, offset, length);
	if (sim_point())
		return 0;
	int result = (int)syscall(SYS_fallocate, descriptor, mode, offset, length);
	sim_point_after();
	return result;
}

void *mmap(void *wanted, size_t length, int protection, int flags, int descriptor, off_t offset)
{
	/* A dead bus must not change memory that others share. */
	if (sim_is_inside() && sim_has_died && flags & MAP_SHARED)
		flags = (flags & ~MAP_SHARED) | MAP_PRIVATE;
	void *address = (void *)syscall(SYS_mmap, wanted, length, protection, flags, descriptor, offset);
	if (address != MAP_FAILED && sim_is_inside() && !sim_has_died && flags & MAP_SHARED && protection & PROT_WRITE)
		sim_map_shared(address, length, descriptor);
	return address;
}

int munmap(void *address, size_t length)
{
	if (sim_is_first_thread)
		sim_unmap(address);
	return (int)syscall(SYS_munmap, address, length);
}

/* The kernel gives each processor its own range of inode numbers, so their order depends on the processor. In a life,
 * files are numbered in the order of their first use. */
static struct file {
	dev_t device;
	ino_t inode;
} *files;
static size_t file_count, file_capacity;

void sim_reset_files(void) { file_count = 0; }

int fstat(int descriptor, struct stat *status)
{
	int result = fstatat(descriptor, "", status, AT_EMPTY_PATH);
	if (result == -1 || !sim_is_first_thread)
		return result;
	size_t index = file_count;
	while (index > 0 && (files[index - 1].device != status->st_dev || files[index - 1].inode != status->st_ino))
		index--;
	if (index == 0) {
		if (file_count == file_capacity) {
			file_capacity = file_capacity ? 2 * file_capacity : 64;
			files = realloc(files, file_capacity * sizeof *files);
			if (!files)
				abort();
		}
		files[file_count++] = (struct file){status->st_dev, status->st_ino};
		index = file_count;
	}
	status->st_ino = index;
	return 0;
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	if (!sim_is_inside())
		return syscall(SYS_getrandom, buffer, length, flags);
	for (size_t index = 0; index < length; index++)
		((uint8_t *)buffer)[index] = (uint8_t)sim_random();
	return (ssize_t)length;
}

pid_t getpid(void) { return sim_is_inside() ? 4242 : (pid_t)syscall(SYS_getpid); }

/* MARK: The service manager */

ssize_t sim_notify(const struct msghdr *message)
{
	size_t length = message->msg_iov[0].iov_len;
	if (sim_point())
		return (ssize_t)length;
	if (sim_goes_wrong(sim_wanted.again))
		return sim_fail(EAGAIN);
	struct cmsghdr *part = message->msg_controllen ? CMSG_FIRSTHDR(message) : NULL;
	size_t count = part ? (part->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
	sim_note(SIM_NOTIFIED, 0, (int64_t)count, message->msg_iov[0].iov_base, length);
	struct sim_event *event = sim_last_event();
	if (count > sizeof event->descriptors / sizeof *event->descriptors)
		abort();
	for (size_t index = 0; index < count; index++) {
		int passed;
		memcpy(&passed, (char *)CMSG_DATA(part) + index * sizeof passed, sizeof passed);
		event->descriptors[index] = (int)syscall(SYS_fcntl, passed, F_DUPFD_CLOEXEC, 0);
		sim_keep(event->descriptors[index], 1);
	}
	sim_point();
	return (ssize_t)length;
}

ssize_t sendto(int descriptor, const void *data, size_t length, int flags, const struct sockaddr *address, socklen_t room)
{
	if (!sim_is_inside())
		return syscall(SYS_sendto, descriptor, data, length, flags, address, room);
	struct iovec part = {(void *)data, length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	return sim_notify(&message);
}

/* MARK: Waiting */

int poll(struct pollfd *list, nfds_t count, int timeout)
{
	if (!sim_is_inside())
		return (int)syscall(SYS_poll, list, count, timeout);
	int ready = 0, left = timeout;
	while (!sim_has_died) {
		/* The first turn accepts a connection, the next reads from it. */
		for (int turns = 0; ready == 0 && turns < 4; turns++) {
			sim_turn_keeper(1);
			ready = (int)syscall(SYS_poll, list, count, 0);
		}
		if (ready != 0 || left <= 0)
			break;
		int step = left < 100 ? left : 100;
		pass((uint64_t)step * 1000000);
		left -= step;
	}
	if (ready == 0 && left > 0)
		pass((uint64_t)left * 1000000);
	return ready;
}

int usleep(useconds_t microseconds)
{
	sim_turn_keeper(1);
	pass((uint64_t)microseconds * 1000);
	return 0;
}
