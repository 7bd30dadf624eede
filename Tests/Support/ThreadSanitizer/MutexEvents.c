/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells the thread sanitizer about Swift's Mutex. Preloaded by tools/test-threads.
 *
 * The sanitizer orders accesses by the instrumented atomic operations between them. A Mutex's uncontended operations are
 * inlined into the instrumented program. The contended ones are in the library, and the kernel changes the word
 * (futex(2), FUTEX_LOCK_PI), so the sanitizer would report false races. These wrappers release the mutex's address on
 * unlock and acquire it on lock.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define SWIFT_METHOD __attribute__((swiftcall, visibility("default")))
#define SWIFT_SELF __attribute__((swift_context))
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

/* The sanitizer's functions; absent in programs without it, which also preload this. */
extern void __tsan_acquire(void *address) __attribute__((weak));
extern void __tsan_release(void *address) __attribute__((weak));

static void *next(const char *name) {
	void *function = dlsym(RTLD_NEXT, name);
	if (!function) abort();
	return function;
}

SWIFT_METHOD void tribune_lock_slow(uint32_t thread, SWIFT_SELF void *mutex) __asm__(LOCK);
SWIFT_METHOD bool tribune_try_lock_slow(SWIFT_SELF void *mutex) __asm__(TRY_LOCK);
SWIFT_METHOD void tribune_unlock_slow(SWIFT_SELF void *mutex) __asm__(UNLOCK);

SWIFT_METHOD void tribune_lock_slow(uint32_t thread, SWIFT_SELF void *mutex) {
	typedef __attribute__((swiftcall)) void Function(uint32_t, SWIFT_SELF void *);
	((Function *)next(LOCK))(thread, mutex);
	if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT_METHOD bool tribune_try_lock_slow(SWIFT_SELF void *mutex) {
	typedef __attribute__((swiftcall)) bool Function(SWIFT_SELF void *);
	bool is_locked = ((Function *)next(TRY_LOCK))(mutex);
	if (is_locked && __tsan_acquire) __tsan_acquire(mutex);
	return is_locked;
}

SWIFT_METHOD void tribune_unlock_slow(SWIFT_SELF void *mutex) {
	typedef __attribute__((swiftcall)) void Function(SWIFT_SELF void *);
	if (__tsan_release) __tsan_release(mutex);
	((Function *)next(UNLOCK))(mutex);
}
