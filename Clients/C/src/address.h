/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_ADDRESS_H
#define TRIBUNE_ADDRESS_H

/*
 * Finds the bus.
 *
 * A folder from the environment must belong to this user, and the bus in it must run as this user or root: a root
 * program with another user's environment must not obey that user's delegates. For the same reason, root ignores
 * XDG_RUNTIME_DIR, and takes from TRIBUNE_ADDRESS only root's bus or the system's. A set-user-ID program ignores the
 * environment.
 */

#include <stdbool.h>
#include <sys/un.h>

#include "../include/tribune.h"

struct address {
  char path[sizeof((struct sockaddr_un *)0)->sun_path];
  bool needs_own_server;
};

/* Finds the bus at `text`, which is `unix:PATH`, or NULL for the default. */
int address_find(struct address *address, const char *text, tribune_error *error);
/* Returns a connected, non-blocking socket. Fails with -EAGAIN if the bus's backlog is full. */
int address_connect(const struct address *address, tribune_error *error);

#endif
