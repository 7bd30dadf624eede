/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_FRAME_H
#define TRIBUNE_FRAME_H

#include "wire.h"

#define HELLO_LENGTH 16u
#define HEADER_LENGTH 32u
#define PROTOCOL_VERSION 1u
#define ACCEPTS_DESCRIPTORS 1u
#define WANTS_POSTERS 2u

struct hello {
  uint16_t version;
  uint16_t minimum;
  uint32_t capabilities;
};

void hello_encode(uint8_t data[HELLO_LENGTH], const struct hello *hello);
/* True if a hello can begin with `data`. `length` is at most HELLO_LENGTH. */
bool hello_begins(const uint8_t *data, size_t length);
int hello_decode(const uint8_t data[HELLO_LENGTH], struct hello *hello);

struct header {
  uint32_t length;
  uint8_t kind;
  uint8_t flags;
  uint8_t name_length;
  uint8_t object_length;
  uint64_t sender;
  uint64_t serial;
  uint32_t fields_length;
};

struct frame_limits {
  uint32_t fields;
  uint32_t payload;
};

/* After the welcome, the limits are high, because verdicts can be long. Before it, the peer is not trusted. */
extern const struct frame_limits frame_limits_of_bus;
extern const struct frame_limits frame_limits_of_greeting;

/* Returns -EBADMSG if the lengths are inconsistent, and -EMSGSIZE above the limits. */
int header_decode(const uint8_t data[HEADER_LENGTH], const struct frame_limits *limits, struct header *header);
uint32_t header_payload_length(const struct header *header);

void frame_begin(struct wire_writer *writer, uint8_t kind, uint8_t flags, uint64_t serial);
/* `name` and `object` may be NULL. Each has at most 255 bytes. */
void frame_end(struct wire_writer *writer, const char *name, const char *object, const void *payload, size_t length);

#endif
