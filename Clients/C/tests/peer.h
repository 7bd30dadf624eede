/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_PEER_H
#define TRIBUNE_PEER_H

/* A simulated bus and its client in one process. */

#include "../src/frame.h"
#include "daemon.h"

extern int peer;
extern tribune *bus;
extern char address[128];

int listen_at(const char *path);
void begin(void);
void end(void);
void put(const void *data, size_t length);
void put_hello(const struct hello *hello);
/* Returns the welcome, which a bus sends after its hello. The caller frees it. */
struct wire_writer greeting(void);
void greet(void);
/* Connects the client, and sends it a hello and a welcome. */
void begin_greeted(void);
void put_frame(uint8_t kind, uint8_t flags, uint64_t serial, const void *fields, size_t fields_length, const char *name,
               const char *payload);
void observe(struct record *record);
/* Expects the connection to end with the error `code`, and the bus to see the end. */
void expect_end(int code);

#endif
