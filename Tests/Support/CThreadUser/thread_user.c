/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "thread_user.h"

#include <sys/syscall.h>
#include <unistd.h>

int thread_user_set(unsigned user)
{
	return (int)syscall(SYS_setresuid, -1, user, -1);
}
