/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_MEMORY_H
#define TRIBUNE_MEMORY_H

/* userInfo in sealed, immutable files in memory. */

#include <stddef.h>

int memory_seal(const void *data, size_t length);
/* Closes the file. -EBADMSG unless sealed and of this length. */
int memory_map(int fd, size_t length, void **ret);

#endif
