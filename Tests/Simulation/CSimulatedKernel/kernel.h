/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <sys/types.h>
#include "simulated_kernel.h"

/* Only calls on the first thread are simulated. */
extern __thread int sim_is_first_thread;
int sim_is_inside(void);
extern int sim_is_keeper;
void sim_note_channel(int descriptor);
int sim_is_channel(int descriptor);
/* A point at which the bus can die. Returns whether it is dead. */
int sim_point(void);
/* The same after a call, whose errno stays. */
static inline void sim_point_after(void)
{
	int error = errno;
	sim_point();
	errno = error;
}
extern int sim_has_died;

extern struct sim_faults sim_wanted;
uint64_t sim_random(void);
int sim_goes_wrong(uint32_t one_in);
static inline int sim_fail(int error)
{
	errno = error;
	return -1;
}

void sim_note(enum sim_event_kind kind, uint64_t cookie, int64_t count, const void *data, size_t length);
struct sim_event *sim_last_event(void);
struct msghdr;
ssize_t sim_notify(const struct msghdr *message);
uint64_t sim_cookie(int descriptor);

void sim_reset_sockets(void);
void sim_reset_alarm(void);
void sim_reset_files(void);

void sim_death_begin(const char *note, int descriptor);
void sim_map_shared(void *address, size_t length, int descriptor);
void sim_unmap(void *address);
void sim_protect(void);
void sim_unprotect(void);
void sim_detach(void);

extern uint64_t sim_points_left;
extern enum sim_place sim_place;
void sim_die(void);
extern uint64_t sim_dead_nanoseconds;
