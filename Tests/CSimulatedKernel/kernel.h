/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include "simulated_kernel.h"

/* death.c: memory that is shared with the next daemon. */
void sim_death_begin(const char *note, int descriptor);
void sim_map_shared(void *address, size_t length, int descriptor);
void sim_unmap(void *address);
void sim_protect(void);
void sim_unprotect(void);
void sim_detach(void);

/* Death by a store is decided here as well. */
extern uint64_t sim_points_left;
extern enum sim_place sim_place;
/* Sends what waits for the service manager. Returns whether anything did. */
int sim_sends(void);
void sim_die(void);
