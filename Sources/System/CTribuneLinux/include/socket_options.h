/* SPDX-License-Identifier: Apache-2.0
 *
 * Options that older kernel headers lack. Code under _GNU_SOURCE includes this file, so it has only these.
 */
#pragma once

/* In <asm/socket.h> since Linux 6.5. */
#define TRIBUNE_SO_PEERPIDFD 77
#define TRIBUNE_SO_PEERGROUPS 59
/* In <asm-generic/socket.h> since Linux 6.16. */
#define TRIBUNE_SO_PASSRIGHTS 83
