/* SPDX-License-Identifier: Apache-2.0 */
#include "fields.h"

#include <stdlib.h>
#include <string.h>

struct wire_reader wire_reader_of(const uint8_t *data, size_t length)
{
  /* Arithmetic on NULL is undefined, even with 0. */
  static const uint8_t nothing;
  const uint8_t *start = data == NULL ? &nothing : data;
  return (struct wire_reader){.at = start, .end = start + length};
}

size_t wire_left(const struct wire_reader *reader)
{
  return reader->failed ? 0 : (size_t)(reader->end - reader->at);
}

/* Returns NULL if too few bytes are left. */
static const uint8_t *take(struct wire_reader *reader, size_t length)
{
  if (reader->failed || length > (size_t)(reader->end - reader->at)) {
    reader->failed = true;
    return NULL;
  }
  const uint8_t *start = reader->at;
  reader->at += length;
  return start;
}

static uint64_t integer(struct wire_reader *reader, size_t length)
{
  const uint8_t *data = take(reader, length);
  uint64_t value = 0;
  for (size_t i = length; data != NULL && i > 0; i--) {
    value = value << 8 | data[i - 1];
  }
  return value;
}

uint8_t wire_read_u8(struct wire_reader *reader)
{
  return (uint8_t)integer(reader, 1);
}

uint16_t wire_read_u16(struct wire_reader *reader)
{
  return (uint16_t)integer(reader, 2);
}

uint32_t wire_read_u32(struct wire_reader *reader)
{
  return (uint32_t)integer(reader, 4);
}

uint64_t wire_read_u64(struct wire_reader *reader)
{
  return integer(reader, 8);
}

int32_t wire_read_i32(struct wire_reader *reader)
{
  uint32_t bits = wire_read_u32(reader);
  int32_t value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

uint8_t wire_read_enumeration(struct wire_reader *reader, uint8_t last)
{
  uint8_t value = wire_read_u8(reader);
  if (value > last) {
    reader->failed = true;
    return 0;
  }
  return value;
}

struct wire_text wire_read_text(struct wire_reader *reader)
{
  size_t length = wire_read_u16(reader);
  const uint8_t *data = take(reader, length);
  return (struct wire_text){data, data == NULL ? 0 : length};
}

struct wire_bytes wire_read_bytes(struct wire_reader *reader)
{
  size_t length = wire_read_u32(reader);
  const uint8_t *data = take(reader, length);
  return (struct wire_bytes){data, data == NULL ? 0 : length};
}

static struct wire_elements list_from(const struct wire_reader *reader, const uint8_t *start, uint32_t count)
{
  if (reader->failed) {
    return (struct wire_elements){0};
  }
  return (struct wire_elements){start, (size_t)(reader->at - start), count};
}

struct wire_elements wire_read_texts(struct wire_reader *reader)
{
  uint32_t count = wire_read_u16(reader);
  const uint8_t *start = reader->at;
  for (uint32_t i = 0; i < count && !reader->failed; i++) {
    wire_read_text(reader);
  }
  return list_from(reader, start, count);
}

struct wire_elements wire_read_integers(struct wire_reader *reader)
{
  uint32_t count = wire_read_u32(reader);
  const uint8_t *start = reader->at;
  /* The division avoids an overflow of a 32-bit size_t. */
  if (count > wire_left(reader) / 4) {
    reader->failed = true;
    return (struct wire_elements){0};
  }
  take(reader, (size_t)count * 4);
  return list_from(reader, start, count);
}

struct wire_elements wire_read_records(struct wire_reader *reader)
{
  uint32_t count = wire_read_u32(reader);
  const uint8_t *start = reader->at;
  for (uint32_t i = 0; i < count && !reader->failed; i++) {
    wire_read_bytes(reader);
  }
  return list_from(reader, start, count);
}

static bool first(const struct wire_elements *list, struct wire_reader *reader)
{
  *reader = wire_reader_of(list->data, list->length);
  return list->count > 0;
}

static bool step(struct wire_elements *list, const struct wire_reader *reader)
{
  if (reader->failed) {
    list->count = 0;
    return false;
  }
  list->length -= (size_t)(reader->at - list->data);
  list->data = reader->at;
  list->count--;
  return true;
}

bool wire_next_text(struct wire_elements *list, struct wire_text *value)
{
  struct wire_reader reader;
  if (!first(list, &reader)) {
    return false;
  }
  *value = wire_read_text(&reader);
  return step(list, &reader);
}

bool wire_next_u32(struct wire_elements *list, uint32_t *value)
{
  struct wire_reader reader;
  if (!first(list, &reader)) {
    return false;
  }
  *value = wire_read_u32(&reader);
  return step(list, &reader);
}

bool wire_next_record(struct wire_elements *list, struct wire_reader *record)
{
  struct wire_reader reader;
  if (!first(list, &reader)) {
    return false;
  }
  struct wire_bytes bytes = wire_read_bytes(&reader);
  *record = wire_reader_of(bytes.data, bytes.length);
  return step(list, &reader);
}

uint8_t *wire_extend(struct wire_writer *writer, size_t length)
{
  if (writer->failed) {
    return NULL;
  }
  if (length > writer->capacity - writer->length) {
    size_t needed = writer->length + length;
    size_t capacity = writer->capacity * 2 > needed ? writer->capacity * 2 : needed;
    uint8_t *data = needed < length ? NULL : realloc(writer->data, capacity < 64 ? 64 : capacity);
    if (data == NULL) {
      writer->failed = true;
      return NULL;
    }
    writer->data = data;
    writer->capacity = capacity < 64 ? 64 : capacity;
  }
  uint8_t *place = writer->data + writer->length;
  writer->length += length;
  return place;
}

void wire_writer_free(struct wire_writer *writer)
{
  free(writer->data);
  *writer = (struct wire_writer){0};
}

void wire_write(struct wire_writer *writer, const void *data, size_t length)
{
  uint8_t *place = wire_extend(writer, length);
  if (place != NULL && length > 0) {
    memcpy(place, data, length);
  }
}

static void put(struct wire_writer *writer, uint64_t value, size_t length)
{
  uint8_t *place = wire_extend(writer, length);
  for (size_t i = 0; place != NULL && i < length; i++) {
    place[i] = (uint8_t)(value >> 8 * i);
  }
}

void wire_write_u8(struct wire_writer *writer, uint8_t value)
{
  put(writer, value, 1);
}

void wire_write_u16(struct wire_writer *writer, uint16_t value)
{
  put(writer, value, 2);
}

void wire_write_u32(struct wire_writer *writer, uint32_t value)
{
  put(writer, value, 4);
}

void wire_write_u64(struct wire_writer *writer, uint64_t value)
{
  put(writer, value, 8);
}

void wire_write_i32(struct wire_writer *writer, int32_t value)
{
  put(writer, (uint32_t)value, 4);
}

void wire_write_text(struct wire_writer *writer, struct wire_text value)
{
  if (value.length > UINT16_MAX) {
    writer->failed = true;
    return;
  }
  wire_write_u16(writer, (uint16_t)value.length);
  wire_write(writer, value.data, value.length);
}

void wire_write_bytes(struct wire_writer *writer, struct wire_bytes value)
{
  if (value.length > UINT32_MAX) {
    writer->failed = true;
    return;
  }
  wire_write_u32(writer, (uint32_t)value.length);
  wire_write(writer, value.data, value.length);
}

void wire_write_texts(struct wire_writer *writer, struct wire_elements value)
{
  if (value.count > UINT16_MAX) {
    writer->failed = true;
    return;
  }
  wire_write_u16(writer, (uint16_t)value.count);
  wire_write(writer, value.data, value.length);
}

void wire_write_elements(struct wire_writer *writer, struct wire_elements value)
{
  wire_write_u32(writer, value.count);
  wire_write(writer, value.data, value.length);
}

struct wire_text wire_text_of(const char *text)
{
  return (struct wire_text){(const uint8_t *)text, text == NULL ? 0 : strlen(text)};
}
