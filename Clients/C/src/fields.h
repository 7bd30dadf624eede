/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_FIELDS_H
#define TRIBUNE_FIELDS_H

/*
 * Reads and writes single fields.
 *
 * What is read borrows from the bytes of its frame. A reader checks each length against the bytes that are there before
 * it uses it, so a hostile peer can make it fail, and do nothing else. Once it has failed, it reads zeros and nothing.
 * What is left at the end belongs to later versions.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire_text {
  const uint8_t *data;
  size_t length;
};

struct wire_bytes {
  const uint8_t *data;
  size_t length;
};

/* Elements as they are in the frame. */
struct wire_elements {
  const uint8_t *data;
  size_t length;
  uint32_t count;
};

struct wire_reader {
  const uint8_t *at;
  const uint8_t *end;
  bool failed;
};

struct wire_reader wire_reader_of(const uint8_t *data, size_t length);
size_t wire_left(const struct wire_reader *reader);
uint8_t wire_read_u8(struct wire_reader *reader);
uint16_t wire_read_u16(struct wire_reader *reader);
uint32_t wire_read_u32(struct wire_reader *reader);
uint64_t wire_read_u64(struct wire_reader *reader);
int32_t wire_read_i32(struct wire_reader *reader);
/* Fails if the number is above the last one of the enumeration. */
uint8_t wire_read_enumeration(struct wire_reader *reader, uint8_t last);
struct wire_text wire_read_text(struct wire_reader *reader);
struct wire_bytes wire_read_bytes(struct wire_reader *reader);
struct wire_elements wire_read_texts(struct wire_reader *reader);
struct wire_elements wire_read_integers(struct wire_reader *reader);
struct wire_elements wire_read_records(struct wire_reader *reader);

/* Take the first element off a list. False if there is none. */
bool wire_next_text(struct wire_elements *list, struct wire_text *value);
bool wire_next_u32(struct wire_elements *list, uint32_t *value);
bool wire_next_record(struct wire_elements *list, struct wire_reader *record);

/* Appends to a buffer that grows. Fails if there is no memory, or for a text over 65,535 bytes. */
struct wire_writer {
  uint8_t *data;
  size_t length;
  size_t capacity;
  bool failed;
};

/* Appends `length` bytes without a value, and returns where they begin; NULL if it has failed. */
uint8_t *wire_extend(struct wire_writer *writer, size_t length);
void wire_writer_free(struct wire_writer *writer);
void wire_write(struct wire_writer *writer, const void *data, size_t length);
void wire_write_u8(struct wire_writer *writer, uint8_t value);
void wire_write_u16(struct wire_writer *writer, uint16_t value);
void wire_write_u32(struct wire_writer *writer, uint32_t value);
void wire_write_u64(struct wire_writer *writer, uint64_t value);
void wire_write_i32(struct wire_writer *writer, int32_t value);
void wire_write_text(struct wire_writer *writer, struct wire_text value);
void wire_write_bytes(struct wire_writer *writer, struct wire_bytes value);
/* The count has 16 bits for texts, and 32 for all others. */
void wire_write_texts(struct wire_writer *writer, struct wire_elements value);
void wire_write_elements(struct wire_writer *writer, struct wire_elements value);

/* NULL is empty. */
struct wire_text wire_text_of(const char *text);

#endif
