/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded, shifts a program's wall clock by $WRONG_CLOCK seconds. Monotonic clocks and waits stay right; waits until a
 * wall clock time last as long as the program means.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t offset(void)
{
  const char *text = getenv("WRONG_CLOCK");
  return text ? atol(text) : 0;
}

/* No monotonic clock reaches this. */
static struct timespec right(const struct timespec *moment)
{
  struct timespec result = *moment;
  if (result.tv_sec > 1000000000)
    result.tv_sec -= offset();
  return result;
}

static clockid_t clock_of(const struct timespec *moment)
{
  return moment->tv_sec > 1000000000 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
  int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += offset();
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
  struct timespec exact;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &exact);
  *now = (struct timeval){exact.tv_sec, exact.tv_nsec / 1000};
  return 0;
}

time_t time(time_t *now)
{
  struct timespec exact;
  clock_gettime(CLOCK_REALTIME, &exact);
  if (now)
    *now = exact.tv_sec;
  return exact.tv_sec;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
  struct timespec end = right(until);
  return pthread_cond_clockwait(condition, mutex, clock_of(until), &end);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
  struct timespec end = right(until);
  return sem_clockwait(semaphore, CLOCK_REALTIME, &end);
}
