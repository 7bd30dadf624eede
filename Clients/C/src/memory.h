/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_MEMORY_H
#define TRIBUNE_MEMORY_H

/* Functions for userInfo in files in memory, which their seals make immutable. */

#include <stddef.h>

int memory_seal(const void *data, size_t length);
/* Maps the file and closes it. Returns -EBADMSG if the file is not sealed, or has another length. */
int memory_map(int fd, size_t length, void **ret);

#endif
