/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded (ld.so(8), LD_PRELOAD), counts a program's heap allocations by the C library. $TRIBUNE_ALLOCATION_COUNT names
 * a file whose first 8 bytes hold the count in native byte order; they are shared memory, so a watcher can read them at
 * any moment. Without the variable, it counts none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Counts that precede the file are dropped. */
static _Atomic uint64_t nowhere;
static _Atomic uint64_t *count = &nowhere;

/* glibc's allocator under its other names. dlsym(3) may allocate. */
void *__libc_malloc(size_t length);
void *__libc_calloc(size_t number, size_t length);
void *__libc_realloc(void *old, size_t length);
void *__libc_memalign(size_t alignment, size_t length);

/* A program whose allocations cannot be counted must not appear to make none. */
static _Noreturn void give_up(void)
{
	static const char text[] = "the file that $TRIBUNE_ALLOCATION_COUNT names cannot be used\n";
	_exit(write(STDERR_FILENO, text, sizeof text - 1) > 0 ? 127 : 126);
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("TRIBUNE_ALLOCATION_COUNT");
	if (!path)
		return;
	int file = open(path, O_RDWR | O_CLOEXEC);
	if (file == -1)
		give_up();
	void *shared = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (shared == MAP_FAILED)
		give_up();
	close(file);
	count = shared;
	/* Programs that this one starts are not counted. */
	unsetenv("TRIBUNE_ALLOCATION_COUNT");
	unsetenv("LD_PRELOAD");
}

static void note(void)
{
	atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

void *malloc(size_t length)
{
	note();
	return __libc_malloc(length);
}

void *calloc(size_t number, size_t length)
{
	note();
	return __libc_calloc(number, length);
}

void *realloc(void *old, size_t length)
{
	note();
	return __libc_realloc(old, length);
}

void *reallocarray(void *old, size_t number, size_t length)
{
	size_t product;
	if (__builtin_mul_overflow(number, length, &product)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, product);
}

void *memalign(size_t alignment, size_t length)
{
	note();
	return __libc_memalign(alignment, length);
}

void *aligned_alloc(size_t alignment, size_t length)
{
	return memalign(alignment, length);
}

int posix_memalign(void **result, size_t alignment, size_t length)
{
	if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0)
		return EINVAL;
	void *memory = memalign(alignment, length);
	if (!memory)
		return ENOMEM;
	*result = memory;
	return 0;
}
