/* SPDX-License-Identifier: Apache-2.0
 *
 * The user of one thread. glibc's setresuid(2) changes it for all threads; the kernel, for the calling one.
 */
#pragma once

/* Makes this thread act as a user. Needs root. Returns -1 after an error. */
int thread_user_set(unsigned user);
