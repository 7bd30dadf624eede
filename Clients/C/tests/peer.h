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
/* The welcome after a hello. The caller frees it. */
struct wire_writer greeting(void);
void greet(void);
/* Begins, and greets the client. */
void begin_greeted(void);
void put_frame(uint8_t kind, uint8_t flags, uint64_t serial, const void *fields, size_t fields_length, const char *name,
               const char *payload);
void observe(struct record *record);
/* The bus then sees the end. */
void expect_end(int code);

#endif
