/* SPDX-License-Identifier: Apache-2.0
 *
 * The bus's sockets.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "kernel.h"
#include "socket_options.h"

/* MARK: Who connects */

static uint32_t waiting_first, waiting_end;

static int keeper_fails(void) { return sim_is_keeper && sim_goes_wrong(sim_wanted.keeper); }

void sim_reset_sockets(void) { waiting_first = waiting_end = 0; }

static int make_listener(int type)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listener == -1)
		return -1;
	/* An address of this length asks the kernel for a name. */
	if (bind(listener, (struct sockaddr *)&address, sizeof address.sun_family) == -1 || listen(listener, SOMAXCONN) == -1)
		abort();
	return listener;
}

int sim_listen(void) { return make_listener(SOCK_STREAM); }
int sim_listen_for_packets(void) { return make_listener(SOCK_SEQPACKET); }

static int keeper_listener = -1;

void sim_set_keeper_listener(int descriptor) { keeper_listener = descriptor; }

int connect(int descriptor, const struct sockaddr *address, socklen_t length)
{
	struct sockaddr_un keeper;
	socklen_t room = sizeof keeper;
	if (!sim_is_inside())
		return (int)syscall(SYS_connect, descriptor, address, length);
	if (sim_point())
		return sim_fail(ECONNREFUSED);
	if (sim_goes_wrong(sim_wanted.again))
		return sim_fail(EAGAIN);
	if (getsockname(keeper_listener, (struct sockaddr *)&keeper, &room) == -1)
		abort();
	int result = (int)syscall(SYS_connect, descriptor, &keeper, room);
	if (result == 0)
		sim_note_channel(descriptor);
	return result;
}

int sim_connect(int listener)
{
	struct sockaddr_un address;
	socklen_t length = sizeof address;
	int connected = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
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

/* Cookies count up, so those of the last 65,536 sockets do not collide. */
static struct peer *peer_of(uint64_t cookie) { return &known[cookie % 65536]; }

int accept4(int descriptor, struct sockaddr *restrict address, socklen_t *restrict length, int flags)
{
	if (!sim_is_inside()) {
		if (keeper_fails())
			return sim_fail(EMFILE);
		int accepted = (int)syscall(SYS_accept4, descriptor, address, length, flags);
		if (sim_is_keeper && accepted != -1)
			sim_keep(accepted, 1);
		return accepted;
	}
	if (sim_point())
		return sim_fail(EAGAIN);
	if (sim_goes_wrong(sim_wanted.no_descriptor))
		return sim_fail(EMFILE);
	int accepted = (int)syscall(SYS_accept4, descriptor, address, length, flags);
	if (accepted == -1)
		return -1;
	struct peer peer = waiting[waiting_first++ % 1024];
	peer.cookie = sim_cookie(accepted);
	*peer_of(peer.cookie) = peer;
	sim_note(SIM_ACCEPTED, peer.cookie, 0, NULL, 0);
	sim_point();
	return accepted;
}

int getsockopt(int descriptor, int level, int name, void *restrict value, socklen_t *restrict length)
{
	/* The clients are not processes, so they have no handle. */
	if (sim_is_inside() && level == SOL_SOCKET && name == TRIBUNE_SO_PEERPIDFD) {
		errno = ENOPROTOOPT;
		return -1;
	}
	/* Each client is in one more group: 7 for odd processes. */
	if (sim_is_inside() && level == SOL_SOCKET && name == TRIBUNE_SO_PEERGROUPS && *length >= sizeof(gid_t)) {
		struct peer *peer = peer_of(sim_cookie(descriptor));
		gid_t group = sim_has_died ? 0 : peer->pid % 2 ? 7 : peer->uid;
		memcpy(value, &group, sizeof group);
		*length = sizeof group;
		return 0;
	}
	int result = (int)syscall(SYS_getsockopt, descriptor, level, name, value, length);
	if (result == 0 && level == SOL_SOCKET && name == SO_COOKIE && *length == sizeof(uint64_t)) {
		uint64_t cookie = sim_cookie(descriptor);
		memcpy(value, &cookie, sizeof cookie);
	}
	if (!sim_is_inside() || sim_is_channel(descriptor))
		return result;
	if (sim_has_died) {
		memset(value, 0, *length);
		return 0;
	}
	if (result == 0 && level == SOL_SOCKET && name == SO_PEERCRED && *length == sizeof(struct ucred)) {
		struct peer *peer = peer_of(sim_cookie(descriptor));
		struct ucred credentials = {peer->pid, peer->uid, peer->uid};
		memcpy(value, &credentials, sizeof credentials);
	}
	return result;
}

/* MARK: What is read and written */

static void each_received(struct msghdr *message, void (*body)(int))
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part))
		for (size_t at = CMSG_LEN(0); at + sizeof(int) <= part->cmsg_len; at += sizeof(int)) {
			int passed;
			memcpy(&passed, (char *)part + at, sizeof passed);
			body(passed);
		}
}

static void keep(int descriptor) { sim_keep(descriptor, 1); }

static void note_given(int descriptor)
{
	int type = 0, is_listening = 0;
	socklen_t length = sizeof(int);
	syscall(SYS_getsockopt, descriptor, SOL_SOCKET, SO_TYPE, &type, &length);
	syscall(SYS_getsockopt, descriptor, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &length);
	if (type == SOCK_STREAM && !is_listening)
		sim_note(SIM_GIVEN, sim_cookie(descriptor), 0, NULL, 0);
}

/* As the kernel does without free descriptors: only the first `kept` arrive. */
static void cut_short(struct msghdr *message, size_t kept)
{
	struct cmsghdr *part = CMSG_FIRSTHDR(message);
	for (size_t at = CMSG_LEN(kept * sizeof(int)); at < part->cmsg_len; at += sizeof(int)) {
		int passed;
		memcpy(&passed, (char *)part + at, sizeof passed);
		syscall(SYS_close, passed);
	}
	part->cmsg_len = CMSG_LEN(kept * sizeof(int));
	message->msg_controllen = kept ? CMSG_SPACE(kept * sizeof(int)) : 0;
	message->msg_flags |= MSG_CTRUNC;
}

static size_t passed_count(struct msghdr *message)
{
	struct cmsghdr *part = CMSG_FIRSTHDR(message);
	return part ? (part->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
}

/* Packets of the keeper are whole, and no client notices them. */
static ssize_t receive_from_keeper(int descriptor, struct msghdr *message, int flags)
{
	if (sim_point() || sim_goes_wrong(sim_wanted.again))
		return sim_fail(EAGAIN);
	ssize_t count = syscall(SYS_recvmsg, descriptor, message, flags);
	size_t passed = count > 0 ? passed_count(message) : 0;
	/* The first descriptor is the log; a bus that loses it begins empty. */
	if (passed > 1 && sim_goes_wrong(sim_wanted.lost_kept)) {
		cut_short(message, 1 + sim_random() % (passed - 1));
		sim_note(SIM_DESCRIPTOR_LOST, 0, 0, NULL, 0);
	}
	if (passed)
		each_received(message, note_given);
	sim_point_after();
	return count;
}

static ssize_t receive_as_keeper(int descriptor, struct msghdr *message, int flags)
{
	ssize_t count = syscall(SYS_recvmsg, descriptor, message, flags);
	size_t passed = count > 0 ? passed_count(message) : 0;
	if (passed && keeper_fails())
		cut_short(message, sim_random() % passed);
	if (passed)
		each_received(message, keep);
	return count;
}

static ssize_t send_to_keeper(int descriptor, const struct msghdr *message, int flags)
{
	if (sim_point())
		return (ssize_t)message->msg_iov[0].iov_len;
	if (sim_goes_wrong(sim_wanted.again))
		return sim_fail(EAGAIN);
	ssize_t count = syscall(SYS_sendmsg, descriptor, message, flags);
	sim_point_after();
	return count;
}

ssize_t recvmsg(int descriptor, struct msghdr *message, int flags)
{
	if (sim_is_keeper)
		return receive_as_keeper(descriptor, message, flags);
	if (!sim_is_inside() || flags & MSG_PEEK)
		return syscall(SYS_recvmsg, descriptor, message, flags);
	if (sim_is_channel(descriptor))
		return receive_from_keeper(descriptor, message, flags);
	if (sim_point())
		return sim_fail(EAGAIN);
	if (sim_goes_wrong(sim_wanted.again)) {
		sim_note(SIM_TRIED, sim_cookie(descriptor), 0, NULL, 0);
		return sim_fail(EAGAIN);
	}
	size_t length = message->msg_iov[0].iov_len;
	if (sim_goes_wrong(sim_wanted.short_receive)) {
		size_t most = length < 64 || sim_random() % 2 ? 4096 : 64;
		message->msg_iov[0].iov_len = 1 + sim_random() % (length < most ? length : most);
	}
	ssize_t count = syscall(SYS_recvmsg, descriptor, message, flags);
	int error = errno;
	message->msg_iov[0].iov_len = length;
	uint64_t cookie = sim_cookie(descriptor);
	if (count == -1 && (error == EAGAIN || error == EINTR)) {
		sim_note(SIM_TRIED, cookie, 0, NULL, 0);
		return sim_fail(error);
	}
	if (count > 0 && message->msg_controllen > 0 && sim_goes_wrong(sim_wanted.lost_descriptor)) {
		cut_short(message, 0);
		sim_note(SIM_DESCRIPTOR_LOST, cookie, 0, NULL, 0);
	}
	sim_note(SIM_RECEIVED, cookie, count == -1 ? -error : count, NULL, 0);
	sim_point();
	errno = error;
	return count;
}

/* The number of bytes that the kernel takes now; -1 for none. */
static ssize_t room(size_t length)
{
	if (sim_goes_wrong(sim_wanted.again))
		return -1;
	if (!sim_goes_wrong(sim_wanted.short_send))
		return (ssize_t)length;
	return (ssize_t)(1 + sim_random() % (sim_random() % 2 ? length : length < 64 ? length : 64));
}

static void note_sent(int descriptor, ssize_t count, size_t offered, const struct iovec *parts)
{
	uint64_t cookie = sim_cookie(descriptor);
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
	if (keeper_fails())
		return sim_fail(sim_random() % 2 ? EAGAIN : ENOBUFS);
	if (!sim_is_inside())
		return syscall(SYS_sendmsg, descriptor, message, flags);
	if (message->msg_name)
		return sim_notify(message);
	if (sim_is_channel(descriptor))
		return send_to_keeper(descriptor, message, flags);
	size_t offered = 0;
	for (size_t index = 0; index < message->msg_iovlen; index++)
		offered += message->msg_iov[index].iov_len;
	if (sim_point())
		return (ssize_t)offered;
	ssize_t taken = room(offered);
	if (taken == -1) {
		note_sent(descriptor, 0, offered, NULL);
		return sim_fail(sim_random() % 2 ? EAGAIN : ENOBUFS);
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
	sim_note(SIM_SHUT_DOWN, sim_cookie(descriptor), 0, NULL, 0);
	int result = (int)syscall(SYS_shutdown, descriptor, how);
	sim_point_after();
	return result;
}
