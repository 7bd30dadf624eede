/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include "simulated_kernel.h"

/* Whether this call is the bus's. */
int sim_is_inside(void);

/* A point at which the bus can die. Returns whether it is dead. */
int sim_point(void);
/* Called when it does. */

void sim_note(enum sim_event_kind kind, uint64_t cookie, int64_t count, const void *bytes, size_t length);
struct sim_event *sim_last_event(void);

/* death.c: memory that is shared with the next daemon. */
void sim_death_begin(const char *note, int descriptor);
void sim_map_shared(void *address, size_t length, int descriptor);
void sim_unmap(void *address);
void sim_protect(void);
void sim_unprotect(void);
void sim_detach(void);

/* Death by a store is decided here as well. */
extern uint64_t sim_points_left;
extern int sim_is_armed;
extern int sim_dies_in_header;
extern int sim_has_died;
void sim_die(void);
