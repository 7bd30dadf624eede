/* SPDX-License-Identifier: Apache-2.0
 *
 * Declarations for files in memory that Swift's Glibc module lacks.
 */
#pragma once

#include <linux/falloc.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <linux/sockios.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/vfs.h>

/* If this header included <malloc.h>, Swift would find the C library's allocator here instead of in Glibc. */
int malloc_trim(size_t pad);

int memfd_create(const char *_Nonnull name, unsigned int flags);
int fallocate(int fd, int mode, off_t offset, off_t length);

/* <unistd.h> defines these only under _GNU_SOURCE. */
#define TRIBUNE_SEEK_DATA 3
#define TRIBUNE_SEEK_HOLE 4

/* <linux/fcntl.h> defines these, but conflicts with <fcntl.h>. */
#define TRIBUNE_F_ADD_SEALS 1033
#define TRIBUNE_F_GET_SEALS 1034
#define TRIBUNE_F_SEAL_SEAL 0x0001
#define TRIBUNE_F_SEAL_SHRINK 0x0002
#define TRIBUNE_F_SEAL_GROW 0x0004
#define TRIBUNE_F_SEAL_WRITE 0x0008

/* Stores a value after all accesses that precede the call, and before all accesses that follow the call. Only the
 * compiler could break this order: after a kill, the memory has the process's stores in program order. */
static inline void tribune_publish(uint64_t *_Nonnull word, uint64_t value)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}
