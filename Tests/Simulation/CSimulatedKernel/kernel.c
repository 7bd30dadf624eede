/* SPDX-License-Identifier: Apache-2.0
 *
 * Selects the simulated calls, their faults and the bus's death, and records events.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"
#include "store_watch.h"

__thread int sim_is_first_thread;
static int is_entered;
int sim_is_keeper;

struct sim_faults sim_wanted;
static uint64_t random_state;

uint64_t sim_points_left;
static int sim_is_armed;
enum sim_place sim_place;
int sim_has_died;

static uint64_t event_count, event_capacity;

#define DESCRIPTORS_MAX 16384
static char is_kept[DESCRIPTORS_MAX];
static char is_channel[DESCRIPTORS_MAX];
static int null_descriptor = -1;

/* MARK: Who calls */

int sim_is_inside(void) { return is_entered && sim_is_first_thread && !sim_is_keeper; }

void sim_begin(const char *note, int descriptor)
{
	sim_is_first_thread = 1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	null_descriptor = open("/dev/null", O_RDWR | O_CLOEXEC);
	sim_death_begin(note, descriptor);
}

/* The kernel's cookies depend on the processor and on other processes. These count up instead, so a life is always the
 * same. */
enum { cookies_max = 65536 };
static struct cookie {
	uint64_t kernels;
	uint64_t own;
} cookies[cookies_max];
static uint64_t cookie_count;

void sim_reset(void)
{
	sim_reset_sockets();
	sim_reset_alarm();
	sim_reset_files();
	sim_live_on();
	sim_has_died = 0;
	memset(cookies, 0, sizeof cookies);
	cookie_count = 0;
	sim_forget();
}

void sim_enter(uint64_t seed, const struct sim_faults *wanted)
{
	random_state = seed;
	sim_wanted = *wanted;
	is_entered = 1;
	if (sim_is_armed)
		sim_protect();
}

void sim_leave(void)
{
	is_entered = 0;
	sim_wanted.keeper = 0;
	sim_unprotect();
}

uint64_t sim_random(void)
{
	random_state += 0x9E3779B97F4A7C15;
	uint64_t mixed = random_state;
	mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
	mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
	return mixed ^ mixed >> 31;
}

int sim_goes_wrong(uint32_t one_in) { return one_in && sim_random() % one_in == 0; }

/* MARK: Death */

void sim_die_after(uint64_t points, enum sim_place place)
{
	sim_points_left = points;
	sim_place = place;
	sim_is_armed = 1;
	if (is_entered)
		sim_protect();
}

void sim_live_on(void)
{
	sim_is_armed = 0;
	sim_unprotect();
}

int sim_is_dead(void) { return sim_has_died; }
void sim_revive(void) { sim_has_died = 0; }

static void (*keeper)(void);

void sim_set_keeper(void (*turn)(void)) { keeper = turn; }

void sim_turn_keeper(uint32_t one_in)
{
	if (sim_is_keeper || !keeper || !sim_goes_wrong(one_in))
		return;
	/* The keeper's work is no step of the bus. */
	store_watch_stop();
	sim_is_keeper = 1;
	keeper();
	sim_is_keeper = 0;
	if (is_entered && sim_is_armed)
		sim_protect();
}

void sim_die(void)
{
	sim_is_armed = 0;
	sim_dead_nanoseconds = 0;
	sim_detach();
	sim_let_go_of_sockets();
	sim_note(SIM_DIED, 0, 0, NULL, 0);
	sim_has_died = 1;
}

int sim_point(void)
{
	if (sim_has_died)
		return 1;
	sim_turn_keeper(sim_wanted.turns);
	if (!sim_is_armed || sim_place != SIM_ANYWHERE || sim_points_left-- > 0)
		return 0;
	sim_die();
	return 1;
}

void sim_keep(int descriptor, int kept)
{
	if (descriptor < 0 || descriptor >= DESCRIPTORS_MAX)
		abort();
	is_kept[descriptor] = kept != 0;
}

int close(int descriptor)
{
	if (descriptor >= 0 && descriptor < DESCRIPTORS_MAX)
		is_kept[descriptor] = is_channel[descriptor] = 0;
	return (int)syscall(SYS_close, descriptor);
}

void sim_note_channel(int descriptor) { is_channel[descriptor] = 1; }
int sim_is_channel(int descriptor) { return is_channel[descriptor]; }

static int descriptors_end(void)
{
	/* The kernel gives the lowest free number. No life has 512 sockets above it. */
	int end = (int)syscall(SYS_fcntl, null_descriptor, F_DUPFD_CLOEXEC, 0);
	syscall(SYS_close, end);
	return end + 512 < DESCRIPTORS_MAX ? end + 512 : DESCRIPTORS_MAX;
}

void sim_let_go_of_sockets(void)
{
	int end = descriptors_end();
	for (int descriptor = 3; descriptor < end; descriptor++) {
		struct stat status;
		if (is_kept[descriptor] || syscall(SYS_fstat, descriptor, &status) == -1 || !S_ISSOCK(status.st_mode))
			continue;
		syscall(SYS_dup3, null_descriptor, descriptor, O_CLOEXEC);
	}
}

/* MARK: Events */

static struct sim_event *events;
static uint8_t *bytes;
static uint64_t byte_count, byte_capacity;

void sim_note(enum sim_event_kind kind, uint64_t cookie, int64_t count, const void *data, size_t length)
{
	if (sim_has_died)
		return;
	if (event_count == event_capacity) {
		event_capacity = event_capacity ? 2 * event_capacity : 256;
		events = realloc(events, event_capacity * sizeof *events);
		if (!events)
			abort();
	}
	if (byte_count + length > byte_capacity) {
		byte_capacity = 2 * (byte_count + length);
		bytes = realloc(bytes, byte_capacity);
		if (!bytes)
			abort();
	}
	struct sim_event *event = &events[event_count++];
	event->kind = kind;
	event->cookie = cookie;
	event->count = count;
	event->offset = byte_count;
	event->length = length;
	if (length)
		memcpy(bytes + byte_count, data, length);
	byte_count += length;
}

struct sim_event *sim_last_event(void) { return &events[event_count - 1]; }
uint64_t sim_event_count(void) { return event_count; }
struct sim_event sim_event_at(uint64_t index) { return events[index]; }
const uint8_t *sim_bytes(void) { return bytes; }

void sim_forget(void)
{
	event_count = 0;
	byte_count = 0;
}

uint64_t sim_cookie(int descriptor)
{
	uint64_t cookie = 0;
	socklen_t length = sizeof cookie;
	if (syscall(SYS_getsockopt, descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &length) == -1)
		return 0;
	uint64_t place = cookie % cookies_max;
	while (cookies[place].kernels != 0 && cookies[place].kernels != cookie)
		place = (place + 1) % cookies_max;
	if (cookies[place].kernels == 0) {
		if (cookie_count == cookies_max - 1)
			abort();
		cookies[place] = (struct cookie){cookie, ++cookie_count};
	}
	return cookies[place].own;
}
