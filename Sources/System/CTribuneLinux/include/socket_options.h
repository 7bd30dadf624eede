/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of sockets, for getsockopt(2), that the headers of older kernels lack. Nothing else, so that code under
 * _GNU_SOURCE can include it, too.
 */
#pragma once

/* <asm/socket.h> has it since Linux 6.5. */
#define TRIBUNE_SO_PEERPIDFD 77
#define TRIBUNE_SO_PEERGROUPS 59
/* <asm-generic/socket.h> has it since Linux 6.16. */
#define TRIBUNE_SO_PASSRIGHTS 83
