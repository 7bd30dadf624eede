/* SPDX-License-Identifier: Apache-2.0
 *
 * What the bus's system calls do, and what is noted of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "kernel.h"

static __thread int is_first_thread;
static int is_entered;

static struct sim_faults faults;
static uint64_t random_state;

static uint64_t now_nanoseconds = 1000000000000;
static uint64_t tick_nanoseconds;

static int alarm_descriptor = -1;
static uint64_t alarm_due;

uint64_t sim_points_left;
static int sim_is_armed;
enum sim_place sim_place;
static int sim_has_died;

static void sim_note(enum sim_event_kind kind, uint64_t cookie, int64_t count, const void *data, size_t length);
static uint64_t event_count, event_capacity;

#define DESCRIPTORS_MAX 16384
static char is_kept[DESCRIPTORS_MAX];
static int null_descriptor = -1;

/* MARK: Who calls */

static int sim_is_inside(void) { return is_entered && is_first_thread; }

void sim_begin(const char *note, int descriptor)
{
	is_first_thread = 1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	null_descriptor = open("/dev/null", O_RDWR | O_CLOEXEC);
	sim_death_begin(note, descriptor);
}

static uint32_t waiting_first, waiting_end;

void sim_reset(void)
{
	waiting_first = waiting_end = 0;
	alarm_due = 0;
	alarm_descriptor = -1;
	sim_live_on();
	sim_has_died = 0;
	sim_forget();
}

void sim_enter(uint64_t seed, const struct sim_faults *wanted)
{
	random_state = seed;
	faults = *wanted;
	is_entered = 1;
	if (sim_is_armed)
		sim_protect();
}

void sim_leave(void)
{
	is_entered = 0;
	sim_unprotect();
}

void sim_set_clock(uint64_t nanoseconds, uint64_t tick)
{
	now_nanoseconds = nanoseconds;
	tick_nanoseconds = tick;
}

uint64_t sim_clock(void) { return now_nanoseconds; }

static uint64_t next_random(void)
{
	random_state += 0x9E3779B97F4A7C15;
	uint64_t mixed = random_state;
	mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
	mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
	return mixed ^ mixed >> 31;
}

static int goes_wrong(uint32_t one_in) { return one_in && next_random() % one_in == 0; }

/* MARK: Death */

void sim_die_after(uint64_t points, enum sim_place place)
{
	sim_points_left = points;
	sim_place = place;
	sim_is_armed = 1;
	if (is_entered)
		sim_protect();
}

void sim_live_on(void)
{
	sim_is_armed = 0;
	sim_unprotect();
}

int sim_is_dead(void) { return sim_has_died; }
void sim_revive(void) { sim_has_died = 0; }

static void (*sender)(void);
static int is_sending;

void sim_set_sender(void (*send)(void)) { sender = send; }

static void send_waiting(uint32_t one_in)
{
	if (is_sending || !sender || !goes_wrong(one_in))
		return;
	is_sending = 1;
	sender();
	is_sending = 0;
}

int sim_sends(void)
{
	uint64_t before = event_count;
	send_waiting(1);
	return event_count != before;
}

void sim_die(void)
{
	sim_is_armed = 0;
	send_waiting(faults.sends ? 2 : 0);
	sim_detach();
	sim_let_go_of_sockets();
	sim_note(SIM_DIED, 0, 0, NULL, 0);
	sim_has_died = 1;
}

/* A point at which the bus can die. Returns whether it is dead. */
static int sim_point(void)
{
	if (sim_has_died)
		return 1;
	send_waiting(faults.sends);
	if (sim_has_died)
		return 1;
	if (!sim_is_armed || sim_place != SIM_ANYWHERE || sim_points_left-- > 0)
		return 0;
	sim_die();
	return 1;
}

void sim_keep(int descriptor, int kept)
{
	if (descriptor < 0 || descriptor >= DESCRIPTORS_MAX)
		abort();
	is_kept[descriptor] = kept != 0;
}

static int descriptors_end(void)
{
	/* Numbers are given from the lowest free one up: sockets 512 above it would be missed, and no life has so many. */
	int end = (int)syscall(SYS_fcntl, null_descriptor, F_DUPFD_CLOEXEC, 0);
	syscall(SYS_close, end);
	return end + 512 < DESCRIPTORS_MAX ? end + 512 : DESCRIPTORS_MAX;
}

/* What the end of a process does: its sockets are closed, whoever still holds their numbers. */
void sim_let_go_of_sockets(void)
{
	int end = descriptors_end();
	for (int descriptor = 3; descriptor < end; descriptor++) {
		struct stat status;
		if (is_kept[descriptor] || syscall(SYS_fstat, descriptor, &status) == -1 || !S_ISSOCK(status.st_mode))
			continue;
		syscall(SYS_dup3, null_descriptor, descriptor, O_CLOEXEC);
	}
}

/* MARK: Events */

static struct sim_event *events;
static uint8_t *bytes;
static uint64_t byte_count, byte_capacity;

static void sim_note(enum sim_event_kind kind, uint64_t cookie, int64_t count, const void *data, size_t length)
{
	if (sim_has_died)
		return;
	if (event_count == event_capacity) {
		event_capacity = event_capacity ? 2 * event_capacity : 256;
		events = realloc(events, event_capacity * sizeof *events);
		if (!events)
			abort();
	}
	if (byte_count + length > byte_capacity) {
		byte_capacity = 2 * (byte_count + length);
		bytes = realloc(bytes, byte_capacity);
		if (!bytes)
			abort();
	}
	struct sim_event *event = &events[event_count++];
	event->kind = kind;
	event->cookie = cookie;
	event->count = count;
	event->offset = byte_count;
	event->length = length;
	if (length)
		memcpy(bytes + byte_count, data, length);
	byte_count += length;
}

uint64_t sim_event_count(void) { return event_count; }
struct sim_event sim_event_at(uint64_t index) { return events[index]; }
const uint8_t *sim_bytes(void) { return bytes; }

void sim_forget(void)
{
	event_count = 0;
	byte_count = 0;
}

static uint64_t cookie_of(int descriptor)
{
	uint64_t cookie = 0;
	socklen_t length = sizeof cookie;
	syscall(SYS_getsockopt, descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &length);
	return cookie;
}

static int fail(int error)
{
	errno = error;
	return -1;
}

/* MARK: Who connects */

static int make_socket(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

int sim_listen(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = make_socket();
	if (listener == -1)
		return -1;
	/* So short an address asks for a name. */
	if (bind(listener, (struct sockaddr *)&address, sizeof address.sun_family) == -1 || listen(listener, SOMAXCONN) == -1)
		abort();
	return listener;
}

int sim_connect(int listener)
{
	struct sockaddr_un address;
	socklen_t length = sizeof address;
	int connected = make_socket();
	if (connected == -1)
		return -1;
	if (getsockname(listener, (struct sockaddr *)&address, &length) == 0
	    && connect(connected, (struct sockaddr *)&address, length) == 0)
		return connected;
	close(connected);
	return -1;
}

struct peer {
	uint64_t cookie;
	int32_t pid;
	uint32_t uid;
};

static struct peer waiting[1024], known[65536];

void sim_push_peer(int32_t pid, uint32_t uid)
{
	waiting[waiting_end++ % 1024] = (struct peer){0, pid, uid};
}

/* Cookies are counted up, so that those of the last 65,536 sockets have places of their own. */
static struct peer *peer_of(uint64_t cookie) { return &known[cookie % 65536]; }

int accept4(int descriptor, struct sockaddr *restrict address, socklen_t *restrict length, int flags)
{
	if (!sim_is_inside())
		return (int)syscall(SYS_accept4, descriptor, address, length, flags);
	if (sim_point())
		return fail(EAGAIN);
	if (goes_wrong(faults.no_descriptor))
		return fail(EMFILE);
	int accepted = (int)syscall(SYS_accept4, descriptor, address, length, flags);
	if (accepted == -1)
		return -1;
	struct peer peer = waiting[waiting_first++ % 1024];
	peer.cookie = cookie_of(accepted);
	*peer_of(peer.cookie) = peer;
	sim_note(SIM_ACCEPTED, peer.cookie, 0, NULL, 0);
	sim_point();
	return accepted;
}

int getsockopt(int descriptor, int level, int name, void *restrict value, socklen_t *restrict length)
{
	int result = (int)syscall(SYS_getsockopt, descriptor, level, name, value, length);
	if (!sim_is_inside())
		return result;
	if (sim_has_died) {
		memset(value, 0, *length);
		return 0;
	}
	if (result == 0 && level == SOL_SOCKET && name == SO_PEERCRED && *length == sizeof(struct ucred)) {
		struct peer *peer = peer_of(cookie_of(descriptor));
		struct ucred credentials = {peer->pid, peer->uid, peer->uid};
		memcpy(value, &credentials, sizeof credentials);
	}
	return result;
}

/* MARK: What is read and written */

ssize_t recvmsg(int descriptor, struct msghdr *message, int flags)
{
	if (!sim_is_inside())
		return syscall(SYS_recvmsg, descriptor, message, flags);
	if (sim_point())
		return fail(EAGAIN);
	if (goes_wrong(faults.again)) {
		sim_note(SIM_TRIED, cookie_of(descriptor), 0, NULL, 0);
		return fail(EAGAIN);
	}
	size_t length = message->msg_iov[0].iov_len;
	if (goes_wrong(faults.short_receive)) {
		size_t most = length < 64 || next_random() % 2 ? 4096 : 64;
		message->msg_iov[0].iov_len = 1 + next_random() % (length < most ? length : most);
	}
	ssize_t count = syscall(SYS_recvmsg, descriptor, message, flags);
	int error = errno;
	message->msg_iov[0].iov_len = length;
	uint64_t cookie = cookie_of(descriptor);
	if (count == -1 && (error == EAGAIN || error == EINTR)) {
		sim_note(SIM_TRIED, cookie, 0, NULL, 0);
		return fail(error);
	}
	if (count > 0 && message->msg_controllen > 0 && goes_wrong(faults.lost_descriptor)) {
		for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part))
			for (size_t at = CMSG_LEN(0); at + sizeof(int) <= part->cmsg_len; at += sizeof(int)) {
				int passed;
				memcpy(&passed, (char *)part + at, sizeof passed);
				syscall(SYS_close, passed);
			}
		message->msg_controllen = 0;
		message->msg_flags |= MSG_CTRUNC;
		sim_note(SIM_DESCRIPTOR_LOST, cookie, 0, NULL, 0);
	}
	sim_note(SIM_RECEIVED, cookie, count == -1 ? -error : count, NULL, 0);
	sim_point();
	errno = error;
	return count;
}

/* How much of `length` bytes the kernel takes now; -1 for nothing. */
static ssize_t room(size_t length)
{
	if (goes_wrong(faults.again))
		return -1;
	if (!goes_wrong(faults.short_send))
		return (ssize_t)length;
	return (ssize_t)(1 + next_random() % (next_random() % 2 ? length : length < 64 ? length : 64));
}

static void note_sent(int descriptor, ssize_t count, size_t offered, const struct iovec *parts)
{
	uint64_t cookie = cookie_of(descriptor);
	size_t left = count > 0 ? (size_t)count : 0;
	for (; left; parts++) {
		size_t length = parts->iov_len < left ? parts->iov_len : left;
		sim_note(SIM_SENT, cookie, (int64_t)length, parts->iov_base, length);
		left -= length;
	}
	if (count < (ssize_t)offered)
		sim_note(SIM_BLOCKED, cookie, 0, NULL, 0);
}

ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags)
{
	if (!sim_is_inside())
		return syscall(SYS_sendmsg, descriptor, message, flags);
	size_t offered = 0;
	for (size_t index = 0; index < message->msg_iovlen; index++)
		offered += message->msg_iov[index].iov_len;
	if (sim_point())
		return (ssize_t)offered;
	ssize_t taken = room(offered);
	if (taken == -1) {
		note_sent(descriptor, 0, offered, NULL);
		return fail(EAGAIN);
	}
	struct iovec parts[1024];
	struct msghdr part = *message;
	memcpy(parts, message->msg_iov, message->msg_iovlen * sizeof *parts);
	part.msg_iov = parts;
	size_t left = (size_t)taken;
	for (size_t index = 0; index < part.msg_iovlen; index++) {
		if (parts[index].iov_len < left) {
			left -= parts[index].iov_len;
			continue;
		}
		parts[index].iov_len = left;
		part.msg_iovlen = index + 1;
	}
	ssize_t count = syscall(SYS_sendmsg, descriptor, &part, flags);
	int error = errno;
	note_sent(descriptor, count, offered, parts);
	sim_point();
	errno = error;
	return count;
}

ssize_t send(int descriptor, const void *data, size_t length, int flags)
{
	if (!sim_is_inside())
		return syscall(SYS_sendto, descriptor, data, length, flags, NULL, 0);
	struct iovec part = {(void *)data, length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	return sendmsg(descriptor, &message, flags);
}

int shutdown(int descriptor, int how)
{
	if (!sim_is_inside())
		return (int)syscall(SYS_shutdown, descriptor, how);
	if (sim_point())
		return 0;
	sim_note(SIM_SHUT_DOWN, cookie_of(descriptor), 0, NULL, 0);
	int result = (int)syscall(SYS_shutdown, descriptor, how);
	int error = errno;
	sim_point();
	errno = error;
	return result;
}

/* MARK: What is waited for */

int epoll_wait(int descriptor, struct epoll_event *ready, int most, int timeout)
{
	if (!sim_is_inside())
		return (int)syscall(SYS_epoll_wait, descriptor, ready, most, timeout);
	int count = (int)syscall(SYS_epoll_wait, descriptor, ready, most, 0);
	if (count > 1 && goes_wrong(faults.reorder)) {
		for (int index = count - 1; index > 0; index--) {
			int other = (int)(next_random() % (uint64_t)(index + 1));
			struct epoll_event event = ready[index];
			ready[index] = ready[other];
			ready[other] = event;
		}
		count = 1 + (int)(next_random() % (uint64_t)count);
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
	if (!sim_is_inside())
		return (int)syscall(SYS_clock_gettime, clock, time);
	uint64_t nanoseconds = now_nanoseconds;
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
	if (sim_is_inside() && command == F_DUPFD_CLOEXEC && goes_wrong(faults.no_descriptor)) {
		sim_note(SIM_REFUSED, 0, 0, NULL, 0);
		return fail(EMFILE);
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
	if (sim_is_inside() && goes_wrong(faults.no_memory)) {
		sim_note(SIM_REFUSED, 0, 0, NULL, 0);
		return fail(next_random() % 2 ? ENOMEM : EMFILE);
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
	int error = errno;
	sim_point();
	errno = error;
	return result;
}

void *mmap(void *wanted, size_t length, int protection, int flags, int descriptor, off_t offset)
{
	void *address = (void *)syscall(SYS_mmap, wanted, length, protection, flags, descriptor, offset);
	if (address != MAP_FAILED && sim_is_inside() && !sim_has_died && flags & MAP_SHARED && protection & PROT_WRITE)
		sim_map_shared(address, length, descriptor);
	return address;
}

int munmap(void *address, size_t length)
{
	if (is_first_thread)
		sim_unmap(address);
	return (int)syscall(SYS_munmap, address, length);
}

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	if (!sim_is_inside())
		return syscall(SYS_getrandom, buffer, length, flags);
	for (size_t index = 0; index < length; index++)
		((uint8_t *)buffer)[index] = (uint8_t)next_random();
	return (ssize_t)length;
}

/* Clients are told it. */
pid_t getpid(void) { return sim_is_inside() ? 4242 : (pid_t)syscall(SYS_getpid); }

/* MARK: The service manager */

int sd_pid_notify_with_fds(pid_t pid, int unset, const char *state, const int *descriptors, unsigned count)
{
	(void)pid;
	(void)unset;
	if (sim_point())
		return 1;
	if (goes_wrong(faults.again))
		return -ENOBUFS;
	sim_note(SIM_NOTIFIED, 0, count, state, strlen(state));
	struct sim_event *event = &events[event_count - 1];
	if (count > sizeof event->descriptors / sizeof *event->descriptors)
		abort();
	for (unsigned index = 0; index < count; index++) {
		event->descriptors[index] = (int)syscall(SYS_fcntl, descriptors[index], F_DUPFD_CLOEXEC, 0);
		sim_keep(event->descriptors[index], 1);
	}
	sim_point();
	return 1;
}

int sd_notify_barrier(int unset, uint64_t timeout)
{
	(void)unset;
	(void)timeout;
	return 1;
}

int usleep(useconds_t microseconds)
{
	(void)microseconds;
	return 0;
}
