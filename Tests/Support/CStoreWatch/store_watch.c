/* SPDX-License-Identifier: Apache-2.0
 *
 * Watched memory is read-only. The handler of a faulting store makes its page writable, single-steps the instruction, and
 * protects the page again. So every store is seen, in order.
 */
#define _GNU_SOURCE
#include "store_watch.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#if !defined(__x86_64__)
#error "Watching stores needs single-stepping, which is implemented for x86-64 only."
#endif

#define PAGE 4096
#define TRAP_FLAG 0x100

struct piece {
	char *address;
	size_t length;
};

static struct piece pieces[64];
#define EACH(piece) struct piece *piece = pieces; piece < pieces + sizeof pieces / sizeof *pieces; piece++

static int is_watching;
static size_t watched_max;
static char *open_pages;
static void (*before_store)(void);
static void (*other_cause)(int signal);

static size_t watched_length(const struct piece *piece)
{
	return piece->length < watched_max ? piece->length : watched_max;
}

static void allow(char *address, size_t length, int protection)
{
	if (mprotect(address, length, protection) == -1)
		abort();
}

void store_watch_start(size_t length_max)
{
	is_watching = 1;
	watched_max = length_max;
	for (EACH(piece))
		if (piece->address)
			allow(piece->address, watched_length(piece), PROT_READ);
}

void store_watch_stop(void)
{
	if (!is_watching)
		return;
	is_watching = 0;
	for (EACH(piece))
		if (piece->address)
			allow(piece->address, piece->length, PROT_READ | PROT_WRITE);
}

void store_watch_add(void *address, size_t length)
{
	for (EACH(piece)) {
		if (piece->address)
			continue;
		*piece = (struct piece){address, length};
		if (is_watching)
			allow(address, watched_length(piece), PROT_READ);
		return;
	}
	abort();
}

void store_watch_remove(void *address)
{
	for (EACH(piece))
		if (piece->address == address)
			piece->address = NULL;
}

static int is_watched(const char *address)
{
	for (EACH(piece))
		if (piece->address && address >= piece->address && address < piece->address + watched_length(piece))
			return 1;
	return 0;
}

/* A store can cross into the next page, which may not be watched. */
static void allow_store(int protection)
{
	allow(open_pages, PAGE, protection);
	if (is_watched(open_pages + PAGE))
		allow(open_pages + PAGE, PAGE, protection);
}

static void stored(int signal, siginfo_t *info, void *context)
{
	if (!is_watching || !is_watched(info->si_addr)) {
		other_cause(signal);
		return;
	}
	before_store();
	if (!is_watching)
		return;
	open_pages = (char *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
	allow_store(PROT_READ | PROT_WRITE);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void stepped(int signal, siginfo_t *info, void *context)
{
	(void)info;
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
	if (!(*flags & TRAP_FLAG)) {
		other_cause(signal);
		return;
	}
	*flags &= ~TRAP_FLAG;
	if (is_watching)
		allow_store(PROT_READ);
}

void store_watch_begin(void (*before)(void), void (*crash)(int signal))
{
	before_store = before;
	other_cause = crash;
	struct sigaction action = {.sa_flags = SA_SIGINFO};
	action.sa_sigaction = stored;
	sigaction(SIGSEGV, &action, NULL);
	action.sa_sigaction = stepped;
	sigaction(SIGTRAP, &action, NULL);
}
