/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel and the service manager as a simulated bus sees them. This target defines the C library's functions that
 * the daemon calls; they precede the library's in the link. Outside of the bus (sim_enter, sim_leave) and on other
 * threads, they are plain system calls.
 *
 * Inside, the kernel does its work except for the wanted sim_faults, and all events that clients could notice are
 * recorded (sim_event). The bus can die before or after a system call, or at any store into memory that it shares with
 * the next daemon. Its later actions have no effect.
 */
#pragma once

#include <stdint.h>

enum sim_event_kind {
	/* `count` bytes; 0 at the end of a connection, negative after an error. */
	SIM_RECEIVED,
	/* The bus found no input, or a fault hid it. */
	SIM_TRIED,
	SIM_SENT,
	/* The kernel took less than the bus offered. */
	SIM_BLOCKED,
	SIM_ACCEPTED,
	SIM_SHUT_DOWN,
	/* A descriptor that belonged to the input was lost. From the keeper: its owner is unknown. */
	SIM_DESCRIPTOR_LOST,
	SIM_GIVEN,
	/* The bus sent the event's bytes, as text, to the service manager with `count` descriptors; `descriptors` are copies. */
	SIM_NOTIFIED,
	SIM_IDLE,
	/* The bus could not duplicate a descriptor or make a file in memory. */
	SIM_REFUSED,
	SIM_DIED,
};

struct sim_event {
	enum sim_event_kind kind;
	/* The cookie of the bus's end. */
	uint64_t cookie;
	int64_t count;
	/* Offset and length in sim_bytes(). */
	uint64_t offset;
	uint64_t length;
	int descriptors[64];
};

/* Each fault happens in one of so many calls; 0 for never. */
struct sim_faults {
	uint32_t again;
	uint32_t short_receive;
	uint32_t short_send;
	uint32_t no_descriptor;
	uint32_t no_memory;
	uint32_t lost_descriptor;
	/* A message of the keeper lacks some descriptors. */
	uint32_t lost_kept;
	uint32_t keeper;
	uint32_t reorder;
	/* The keeper gets a turn before a call. */
	uint32_t turns;
};

/* Sets the keeper's function that handles arrived messages. It may run before any call, and runs when the bus waits for it. */
void sim_set_keeper(void (*turn)(void));
/* Gives the keeper a turn, one in so many times. */
void sim_turn_keeper(uint32_t one_in);
void sim_set_keeper_listener(int descriptor);

/* Call once, on the first thread. A crash writes `note` to `descriptor`. The process ends with its parent. */
void sim_begin(const char *note, int descriptor);

/* Begins another life. */
void sim_reset(void);

/* Calls between these two are the bus's; `seed` determines their faults. */
void sim_enter(uint64_t seed, const struct sim_faults *faults);
void sim_leave(void);

/* The bus's clock; each reading advances it by `tick`. */
void sim_set_clock(uint64_t nanoseconds, uint64_t tick);
uint64_t sim_clock(void);

/* 0 for none. */
uint64_t sim_alarm(void);
/* Fires the alarm if its time has come. */
void sim_ring(void);

/* A listening socket with a name from the kernel and without a file, and a connection to it. -1 without a descriptor. */
int sim_listen(void);
int sim_listen_for_packets(void);
int sim_connect(int listener);

/* The identity of the next connection that the bus accepts. */
void sim_push_peer(int32_t pid, uint32_t uid);

void sim_keep(int descriptor, int is_kept);

enum sim_place {
	/* At a store into shared memory, before a system call or after it. */
	SIM_ANYWHERE,
	SIM_IN_HEADER,
};

void sim_die_after(uint64_t points, enum sim_place place);
void sim_live_on(void);
int sim_is_dead(void);
void sim_revive(void);
/* Closes all sockets except the kept ones, as the end of a process does. */
void sim_let_go_of_sockets(void);

uint64_t sim_event_count(void);
struct sim_event sim_event_at(uint64_t index);
const uint8_t *sim_bytes(void);
void sim_forget(void);

