/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls back before every store into watched memory, on the storing thread: a test sees the memory as a process killed
 * between any two stores leaves it. For one thread at a time.
 */
#pragma once

#include <stddef.h>

/* Call once. `before` may end the watching. `crash` is called for a SIGSEGV or SIGTRAP of another cause. */
void store_watch_begin(void (*before)(void), void (*crash)(int signal));

/* Up to 64 pieces of memory, each starting at a page boundary. */
void store_watch_add(void *address, size_t length);
void store_watch_remove(void *address);

/* Watches the first `length_max` bytes of each piece, a multiple of the page size, until stopped. */
void store_watch_start(size_t length_max);
void store_watch_stop(void);
