/* SPDX-License-Identifier: Apache-2.0 */
#include "frame.h"

#include <errno.h>
#include <string.h>

static const uint8_t magic[8] = {0xF1, 'T', 'R', 'I', 'B', 'U', 'N', 'E'};

/* docs/LIMITS.md has these limits. */
const struct frame_limits frame_limits_of_bus = {1u << 30, (1u << 30) + (1u << 20)};
const struct frame_limits frame_limits_of_greeting = {1u << 16, 1u << 16};

void hello_encode(uint8_t data[HELLO_LENGTH], const struct hello *hello)
{
  memcpy(data, magic, sizeof magic);
  for (size_t i = 0; i < 2; i++) {
    data[8 + i] = (uint8_t)(hello->version >> 8 * i);
    data[10 + i] = (uint8_t)(hello->minimum >> 8 * i);
  }
  for (size_t i = 0; i < 4; i++) {
    data[12 + i] = (uint8_t)(hello->capabilities >> 8 * i);
  }
}

bool hello_begins(const uint8_t *data, size_t length)
{
  return memcmp(data, magic, length < sizeof magic ? length : sizeof magic) == 0;
}

int hello_decode(const uint8_t data[HELLO_LENGTH], struct hello *hello)
{
  if (!hello_begins(data, HELLO_LENGTH)) {
    return -EBADMSG;
  }
  struct wire_reader reader = wire_reader_of(data + sizeof magic, HELLO_LENGTH - sizeof magic);
  hello->version = wire_read_u16(&reader);
  hello->minimum = wire_read_u16(&reader);
  hello->capabilities = wire_read_u32(&reader);
  return 0;
}

int header_decode(const uint8_t data[HEADER_LENGTH], const struct frame_limits *limits, struct header *header)
{
  struct wire_reader reader = wire_reader_of(data, HEADER_LENGTH);
  header->length = wire_read_u32(&reader);
  header->kind = wire_read_u8(&reader);
  header->flags = wire_read_u8(&reader);
  header->name_length = wire_read_u8(&reader);
  header->object_length = wire_read_u8(&reader);
  header->sender = wire_read_u64(&reader);
  header->serial = wire_read_u64(&reader);
  header->fields_length = wire_read_u32(&reader);
  uint64_t parts = (uint64_t)HEADER_LENGTH + header->fields_length + header->name_length + header->object_length;
  if (header->length < parts) {
    return -EBADMSG;
  }
  if (header->fields_length > limits->fields || header->length - parts > limits->payload) {
    return -EMSGSIZE;
  }
  return 0;
}

uint32_t header_payload_length(const struct header *header)
{
  return header->length - HEADER_LENGTH - header->fields_length - header->name_length - header->object_length;
}

static void put_u32(uint8_t *place, uint32_t value)
{
  for (size_t i = 0; i < 4; i++) {
    place[i] = (uint8_t)(value >> 8 * i);
  }
}

void frame_begin(struct wire_writer *writer, uint8_t kind, uint8_t flags, uint64_t serial)
{
  /* frame_end() writes the lengths later. The bus writes the sender. */
  wire_write_u32(writer, 0);
  wire_write_u8(writer, kind);
  wire_write_u8(writer, flags);
  wire_write_u16(writer, 0);
  wire_write_u64(writer, 0);
  wire_write_u64(writer, serial);
  wire_write_u64(writer, 0);
}

void frame_end(struct wire_writer *writer, const char *name, const char *object, const void *payload, size_t length)
{
  size_t fields_length = writer->length - HEADER_LENGTH;
  struct wire_text texts[2] = {wire_text_of(name), wire_text_of(object)};
  for (size_t i = 0; i < 2; i++) {
    wire_write(writer, texts[i].data, texts[i].length);
  }
  wire_write(writer, payload, length);
  if (writer->failed || writer->length > UINT32_MAX) {
    writer->failed = true;
    return;
  }
  put_u32(writer->data, (uint32_t)writer->length);
  writer->data[6] = (uint8_t)texts[0].length;
  writer->data[7] = (uint8_t)texts[1].length;
  put_u32(writer->data + 24, (uint32_t)fields_length);
}
