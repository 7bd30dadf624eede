/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_MEMORY_H
#define TRIBUNE_MEMORY_H

/* userInfo in sealed files in memory, which nobody can change any more. */

#include <stddef.h>

/* Returns a descriptor of a sealed file that has the bytes. */
int memory_seal(const void *data, size_t length);
/* Maps a file that came from the bus, and closes it. -EBADMSG if it is no sealed one of this length; another error if
   this process cannot have it. */
int memory_map(int fd, size_t length, void **ret);

#endif
