/* SPDX-License-Identifier: Apache-2.0
 *
 * Socket options that older kernel headers lack. Code under _GNU_SOURCE can include this file alone:
 * the declarations in the other files would conflict with that code's system headers.
 */
#pragma once

/* <asm/socket.h> has SO_PEERPIDFD since Linux 6.5. */
#define TRIBUNE_SO_PEERPIDFD 77
#define TRIBUNE_SO_PEERGROUPS 59
/* <asm-generic/socket.h> has SO_PASSRIGHTS since Linux 6.16. */
#define TRIBUNE_SO_PASSRIGHTS 83
