/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded (ld.so(8), LD_PRELOAD), lets every second frame behind the greeting fail at first, as if the kernel lacked
 * memory for it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/socket.h>

static int lacks_memory(void)
{
	static atomic_int calls;
	int call = ++calls;
	return call > 2 && call % 2 == 1;
}

ssize_t send(int socket, const void *bytes, size_t count, int flags)
{
	ssize_t (*pass)(int, const void *, size_t, int) = dlsym(RTLD_NEXT, "send");
	if (lacks_memory()) {
		errno = ENOBUFS;
		return -1;
	}
	return pass(socket, bytes, count, flags);
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags)
{
	ssize_t (*pass)(int, const struct msghdr *, int) = dlsym(RTLD_NEXT, "sendmsg");
	if (lacks_memory()) {
		errno = ENOMEM;
		return -1;
	}
	return pass(socket, message, flags);
}
