/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded (ld.so(8), LD_PRELOAD), lets each pending signal wait 300 ms longer, as if the thread that receives signals
 * did not run.
 */
#include <dlfcn.h>
#include <signal.h>
#include <time.h>

static void pause_for(long milliseconds)
{
	struct timespec span = { .tv_nsec = milliseconds * 1000000 };
	nanosleep(&span, NULL);
}

static int has_pending(const sigset_t *wanted)
{
	sigset_t pending;
	sigpending(&pending);
	for (int number = 1; number < SIGRTMIN; number++)
		if (sigismember(wanted, number) == 1 && sigismember(&pending, number) == 1)
			return 1;
	return 0;
}

int sigwaitinfo(const sigset_t *wanted, siginfo_t *information)
{
	int (*wait)(const sigset_t *, siginfo_t *) = dlsym(RTLD_NEXT, "sigwaitinfo");
	while (!has_pending(wanted))
		pause_for(1);
	pause_for(300);
	return wait(wanted, information);
}
