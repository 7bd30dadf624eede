/* SPDX-License-Identifier: Apache-2.0
 *
 * Death between any two stores. While a death is due, memory that the bus shares with the next daemon can only be
 * read. A store into it raises a signal; the handler lets it happen and has the processor stop behind that one
 * instruction, to forbid the next. So each store of the program as it was compiled is a point, in its own order.
 *
 * The dead bus goes on to the end of what it was doing, on a private copy of that memory: what the next daemon finds is
 * what was there before the store at which it died.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "kernel.h"

struct area {
	char *address;
	size_t length;
	int descriptor;
};

static struct area areas[64];
static int is_protected;
/* The first page of a state has the words that say which of the rest counts. */
#define PAGE 4096
/* What a store that is just being made may touch. */
static char *open_pages;
static const char *crash_note;
static int crash_descriptor;

/* Each store that is watched costs two signals: no more than those are that matter. */
static size_t watched_length(const struct area *area) { return sim_place == SIM_ANYWHERE ? area->length : PAGE; }

static void protect(const struct area *area)
{
	if (mprotect(area->address, watched_length(area), PROT_READ) == -1)
		abort();
}

void sim_protect(void)
{
	is_protected = 1;
	for (size_t index = 0; index < sizeof areas / sizeof *areas; index++)
		if (areas[index].address)
			protect(&areas[index]);
}

void sim_unprotect(void)
{
	if (!is_protected)
		return;
	is_protected = 0;
	for (size_t index = 0; index < sizeof areas / sizeof *areas; index++)
		if (areas[index].address && mprotect(areas[index].address, areas[index].length, PROT_READ | PROT_WRITE) == -1)
			abort();
}

/* What is stored from here on is seen by this process alone. */
void sim_detach(void)
{
	is_protected = 0;
	for (size_t index = 0; index < sizeof areas / sizeof *areas; index++) {
		struct area *area = &areas[index];
		if (!area->address)
			continue;
		void *mapped = (void *)syscall(SYS_mmap, area->address, area->length, PROT_READ | PROT_WRITE,
		                               MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, area->descriptor, (off_t)0);
		if (mapped != area->address)
			abort();
		/* The next bus's are others. */
		area->address = NULL;
	}
}

void sim_map_shared(void *address, size_t length, int descriptor)
{
	for (size_t index = 0; index < sizeof areas / sizeof *areas; index++) {
		struct area *area = &areas[index];
		if (area->address)
			continue;
		*area = (struct area){address, length, descriptor};
		if (is_protected)
			protect(area);
		return;
	}
	abort();
}

void sim_unmap(void *address)
{
	for (size_t index = 0; index < sizeof areas / sizeof *areas; index++)
		if (areas[index].address == address)
			areas[index].address = NULL;
}

static int is_watched(const char *address)
{
	for (size_t index = 0; index < sizeof areas / sizeof *areas; index++)
		if (areas[index].address && address >= areas[index].address
		    && address < areas[index].address + watched_length(&areas[index]))
			return 1;
	return 0;
}

/* A crash of the bus: says where in the simulation it was. */
static void crash(int signal)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	if (write(crash_descriptor, crash_note, strlen(crash_note)) == -1)
		_exit(1);
	sigaction(signal, &action, NULL);
	raise(signal);
}

#if defined(__x86_64__)
#define TRAP_FLAG 0x100

static void stored(int signal, siginfo_t *info, void *context)
{
	if (!is_protected || !is_watched(info->si_addr)) {
		crash(signal);
		return;
	}
	int is_point = sim_place != SIM_WHEN_SENT || sim_sends();
	if (is_point && sim_points_left-- == 0) {
		sim_die();
		return;
	}
	/* It can reach into the next page, which may be none of the same memory. */
	open_pages = (char *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
	mprotect(open_pages, PAGE, PROT_READ | PROT_WRITE);
	if (is_watched(open_pages + PAGE))
		mprotect(open_pages + PAGE, PAGE, PROT_READ | PROT_WRITE);
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void stepped(int signal, siginfo_t *info, void *context)
{
	(void)info;
	ucontext_t *state = context;
	if (!(state->uc_mcontext.gregs[REG_EFL] & TRAP_FLAG)) {
		crash(signal);
		return;
	}
	state->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	if (!is_protected)
		return;
	mprotect(open_pages, PAGE, PROT_READ);
	if (is_watched(open_pages + PAGE))
		mprotect(open_pages + PAGE, PAGE, PROT_READ);
}

static void watch_stores(void)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO};
	action.sa_sigaction = stored;
	sigaction(SIGSEGV, &action, NULL);
	action.sa_sigaction = stepped;
	sigaction(SIGTRAP, &action, NULL);
}
#else
#error "The simulation stops behind single instructions, which it only knows how to do on x86-64."
#endif

void sim_death_begin(const char *note, int descriptor)
{
	crash_note = note;
	crash_descriptor = descriptor;
	struct sigaction action = {.sa_handler = crash};
	sigaction(SIGILL, &action, NULL);
	sigaction(SIGABRT, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	watch_stores();
}
