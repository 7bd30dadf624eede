/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_ADDRESS_H
#define TRIBUNE_ADDRESS_H

/*
 * Where the bus is, and whose bus is accepted.
 *
 * A folder that the environment names has to be this user's own, and this user or root has to serve the bus there: a
 * program that runs as root with another user's environment must not let that user's delegates decide. A program with
 * more privileges than its caller ignores the environment.
 */

#include <stdbool.h>
#include <sys/un.h>

#include "../include/tribune.h"

struct address {
  char path[sizeof((struct sockaddr_un *)0)->sun_path];
  /* Whether the peer has to be this user or root. */
  bool needs_own_server;
};

/* Takes `unix:PATH`, or finds the default if `text` is NULL. */
int address_find(struct address *address, const char *text, tribune_error *error);
/* Returns a non-blocking socket that is connected; -EAGAIN if the bus has not accepted those that connected before. */
int address_connect(const struct address *address, tribune_error *error);

#endif
