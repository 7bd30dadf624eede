/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel and the service manager as a bus under simulation meets them. This target defines the C library's
 * functions that the daemon's code calls; linked into the simulation, they come before the library's own. Outside of
 * the bus (sim_enter, sim_leave), and on other threads than the first, they are plain system calls.
 *
 * Inside, what a call does is the kernel's own, but for what sim_faults has go wrong; and all that clients could notice
 * is noted, in order (sim_event). The bus can be told to die: at a system call, before or after it, or at any store
 * into memory that it shares with the next daemon. What it does after its death has no effect.
 */
#pragma once

#include <stdint.h>

enum sim_event_kind {
	/* The bus has read `count` bytes, 0 at the end of a connection; negative: the error. */
	SIM_RECEIVED,
	/* The bus has found nothing to read, or it was made to. */
	SIM_TRIED,
	/* The bus has sent the event's bytes. */
	SIM_SENT,
	/* The kernel took less than what was offered, or nothing. */
	SIM_BLOCKED,
	SIM_ACCEPTED,
	SIM_SHUT_DOWN,
	/* A descriptor that came with what was read could not be had. From the keeper: what it was of is not known. */
	SIM_DESCRIPTOR_LOST,
	/* The keeper has given the bus a connection. */
	SIM_GIVEN,
	/* The service manager was sent the event's bytes, as text, with `count` descriptors; `descriptors` are copies. */
	SIM_NOTIFIED,
	/* Nothing was ready. */
	SIM_IDLE,
	/* The bus could not duplicate a descriptor, or make a file in memory. */
	SIM_REFUSED,
	SIM_DIED,
};

struct sim_event {
	enum sim_event_kind kind;
	/* Of the socket on the bus's side. */
	uint64_t cookie;
	int64_t count;
	/* What the event has bytes of: offset and length in sim_bytes(). */
	uint64_t offset;
	uint64_t length;
	int descriptors[64];
};

/* One in so many calls goes wrong so; 0 for none. */
struct sim_faults {
	uint32_t again;
	uint32_t short_receive;
	uint32_t short_send;
	uint32_t no_descriptor;
	uint32_t no_memory;
	uint32_t lost_descriptor;
	/* A message of the keeper comes without some of its descriptors. */
	uint32_t lost_kept;
	/* The keeper's own calls. */
	uint32_t keeper;
	/* Of what is ready, something is reported later, or in another order. */
	uint32_t reorder;
	/* Before a call, the keeper has a turn. */
	uint32_t turns;
};

/* Has the keeper take what has come. It has a turn at any moment, and whenever the bus waits for it. */
void sim_set_keeper(void (*turn)(void));
/* It has one now, one in so many times. */
void sim_turn_keeper(uint32_t one_in);
/* The socket that the keeper listens on. */
void sim_set_keeper_listener(int descriptor);

/* To be called once, on the first thread. `note` is what is said to `descriptor` when the process crashes. It ends with
 * the process that started it. */
void sim_begin(const char *note, int descriptor);

/* Another life begins: nothing of the one before is known any more. */
void sim_reset(void);

/* Between these two, calls are the bus's. `seed` decides what goes wrong. */
void sim_enter(uint64_t seed, const struct sim_faults *faults);
void sim_leave(void);

/* The time that the bus sees; each look at it takes `tick`. */
void sim_set_clock(uint64_t nanoseconds, uint64_t tick);
uint64_t sim_clock(void);

/* The moment for which the bus has set its alarm; 0 for none. */
uint64_t sim_alarm(void);
/* Has the alarm go off if its time has come. */
void sim_ring(void);

/* A socket that listens under a name which the kernel gives it, and no file has; and one that is connected to it. -1
 * without a descriptor. */
int sim_listen(void);
int sim_listen_for_packets(void);
int sim_connect(int listener);

/* Who connects next: in the order in which connections are accepted. */
void sim_push_peer(int32_t pid, uint32_t uid);

/* This process's own socket: not the bus's, so that it outlives the bus. */
void sim_keep(int descriptor, int is_kept);

/* Where the bus is to die. */
enum sim_place {
	/* At a store into shared memory, at a system call, or at its end. */
	SIM_ANYWHERE,
	/* At a store into the first page of shared memory. */
	SIM_IN_HEADER,
};

/* Has the bus die when so many places of that kind have been passed. */
void sim_die_after(uint64_t points, enum sim_place place);
/* Takes that back. */
void sim_live_on(void);
int sim_is_dead(void);
/* A new bus lives. */
void sim_revive(void);
/* What the end of a process does: its sockets are closed, but for those that are kept. */
void sim_let_go_of_sockets(void);

/* What has been noted since sim_forget. */
uint64_t sim_event_count(void);
struct sim_event sim_event_at(uint64_t index);
const uint8_t *sim_bytes(void);
void sim_forget(void);

