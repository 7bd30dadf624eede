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
/* What a store that is just being made may touch. */
static char *open_pages;
#define PAGE 4096
static const char *crash_note;
static int crash_descriptor;

static void change_protection(int protection)
{
	for (size_t index = 0; index < sizeof areas / sizeof *areas; index++)
		if (areas[index].address && mprotect(areas[index].address, areas[index].length, protection) == -1)
			abort();
}

void sim_protect(void)
{
	is_protected = 1;
	change_protection(PROT_READ);
}

void sim_unprotect(void)
{
	if (!is_protected)
		return;
	is_protected = 0;
	change_protection(PROT_READ | PROT_WRITE);
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
		if (is_protected && mprotect(address, length, PROT_READ) == -1)
			abort();
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

static int is_shared(const char *address)
{
	for (size_t index = 0; index < sizeof areas / sizeof *areas; index++)
		if (areas[index].address && address >= areas[index].address
		    && address < areas[index].address + areas[index].length)
			return 1;
	return 0;
}

/* The first page of a state has the words that say which of the rest counts. */
static int is_in_header(const char *address)
{
	for (size_t index = 0; index < sizeof areas / sizeof *areas; index++)
		if (areas[index].address && address >= areas[index].address && address < areas[index].address + PAGE)
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
	if (!is_protected || !is_shared(info->si_addr)) {
		crash(signal);
		return;
	}
	int is_point = sim_place == SIM_ANYWHERE
		|| (is_in_header(info->si_addr) && (sim_place == SIM_IN_HEADER || sim_sends()));
	if (is_point && sim_points_left-- == 0) {
		sim_die();
		return;
	}
	/* It can reach into the next page, which may be none of the same memory. */
	open_pages = (char *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
	mprotect(open_pages, PAGE, PROT_READ | PROT_WRITE);
	if (is_shared(open_pages + PAGE))
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
	if (is_shared(open_pages + PAGE))
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
