/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_CLOCK_H
#define TRIBUNE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t now_usec(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

/* Returns the time after `span`. UINT64_MAX means never. */
static inline uint64_t usec_from_now(uint64_t span)
{
  uint64_t now = now_usec();
  return span > UINT64_MAX - now ? UINT64_MAX : now + span;
}

#endif
