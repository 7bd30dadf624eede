/* SPDX-License-Identifier: Apache-2.0
 *
 * What starting and watching a child process needs beyond Swift's Glibc module.
 */
#pragma once

#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Declared only under _GNU_SOURCE, in <link.h>: one object of this process, and what there is of each. */
struct tribune_program_object {
	Elf64_Addr address;
	const char *_Nullable name;
	const Elf64_Phdr *_Nullable headers;
	Elf64_Half header_count;
};
typedef int tribune_object_visitor(const struct tribune_program_object *_Nonnull object, size_t size,
                                   void *_Nullable data);
int dl_iterate_phdr(tribune_object_visitor *_Nonnull visitor, void *_Nullable data);

/* Declared only under _GNU_SOURCE. */
int pipe2(int *_Nonnull ends, int flags);
long syscall(long number, ...);

/* glibc has had a function of this name since 2.36 only. */
static inline int tribune_pidfd_open(int pid, unsigned int flags)
{
	return (int)syscall(SYS_pidfd_open, pid, flags);
}

/* The environment's block; Swift cannot see the mutable global that it is. */
static inline char *_Nullable *_Nonnull tribune_environment(void)
{
	extern char *_Nullable *_Nonnull environ;
	return environ;
}

/* Nobody of the same user can look into this process from here on: ptrace(2), /proc/PID/fd. */
static inline int tribune_forbid_tracing(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* SIG_IGN is a cast that Swift cannot import. */
static inline int tribune_signal_is_ignored(int signal)
{
	struct sigaction action;
	return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}
