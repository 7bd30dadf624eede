/* SPDX-License-Identifier: Apache-2.0
 *
 * Death between any two stores into memory that the bus shares with the next daemon (store_watch.h).
 *
 * The dead bus finishes its work on a private copy of that memory. The next daemon finds the memory as it was before
 * the deadly store.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"
#include "store_watch.h"

struct area {
	void *address;
	size_t length;
	int descriptor;
};

static struct area areas[64];
#define EACH(area) struct area *area = areas; area < areas + sizeof areas / sizeof *areas; area++
/* The header in the log's first page decides which of the rest is valid. */
#define PAGE 4096
static const char *crash_note;
static int crash_descriptor;

/* A watched store costs two signals, so watch only the stores that matter. */
void sim_protect(void) { store_watch_start(sim_place == SIM_ANYWHERE ? SIZE_MAX : PAGE); }

void sim_unprotect(void) { store_watch_stop(); }

/* Makes later stores visible to this process only. */
void sim_detach(void)
{
	store_watch_stop();
	for (EACH(area)) {
		if (!area->address)
			continue;
		void *mapped = (void *)syscall(SYS_mmap, area->address, area->length, PROT_READ | PROT_WRITE,
		                               MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, area->descriptor, (off_t)0);
		if (mapped != area->address)
			abort();
		sim_unmap(area->address);
	}
}

void sim_map_shared(void *address, size_t length, int descriptor)
{
	for (EACH(area)) {
		if (area->address)
			continue;
		*area = (struct area){address, length, descriptor};
		store_watch_add(address, length);
		return;
	}
	abort();
}

void sim_unmap(void *address)
{
	store_watch_remove(address);
	for (EACH(area))
		if (area->address == address)
			area->address = NULL;
}

static void before_store(void)
{
	if (sim_points_left-- == 0)
		sim_die();
}

/* Reports the step at which the bus crashed. */
static void crash(int signal)
{
	struct sigaction action = {.sa_handler = SIG_DFL};
	if (write(crash_descriptor, crash_note, strlen(crash_note)) == -1)
		_exit(1);
	sigaction(signal, &action, NULL);
	raise(signal);
}

void sim_death_begin(const char *note, int descriptor)
{
	crash_note = note;
	crash_descriptor = descriptor;
	struct sigaction action = {.sa_handler = crash};
	sigaction(SIGILL, &action, NULL);
	sigaction(SIGABRT, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	store_watch_begin(before_store, crash);
}
