/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations for child processes that Swift's Glibc module lacks.
 */
#pragma once

#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* <link.h> declares these only under _GNU_SOURCE. */
struct tribune_program_object {
	Elf64_Addr address;
	const char *_Nullable name;
	const Elf64_Phdr *_Nullable headers;
	Elf64_Half header_count;
};
typedef int tribune_object_visitor(const struct tribune_program_object *_Nonnull object, size_t size,
                                   void *_Nullable data);
int dl_iterate_phdr(tribune_object_visitor *_Nonnull visitor, void *_Nullable data);

int pipe2(int *_Nonnull ends, int flags);
int gettid(void);
long syscall(long number, ...);

/* glibc has pidfd_open only since 2.36. */
static inline int tribune_pidfd_open(int pid, unsigned int flags)
{
	return (int)syscall(SYS_pidfd_open, pid, flags);
}

/* Swift cannot import the mutable global `environ`. */
static inline char *_Nullable *_Nonnull tribune_environment(void)
{
	extern char *_Nullable *_Nonnull environ;
	return environ;
}

/* Returns the arguments of main, terminated by NULL. Swift's CommandLine needs /proc, which may be missing. */
char *_Nullable *_Nonnull tribune_arguments(void);

/* Forbids other processes of the user to trace this one, and to use its /proc/PID/fd. */
static inline int tribune_forbid_tracing(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Restores the default of SIGCHLD. If the parent left SIGCHLD ignored, the kernel would discard exit statuses. */
static inline void tribune_keep_exit_statuses(void)
{
	signal(SIGCHLD, SIG_DFL);
}

/* Swift cannot compare a function pointer with SIG_IGN. */
static inline int tribune_signal_is_ignored(int signal)
{
	struct sigaction action;
	return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}
