/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_FIELDS_H
#define TRIBUNE_FIELDS_H

/*
 * Reads and writes single fields.
 *
 * Results point into the frame. A hostile peer can only make a reader fail; the reader then returns zeros. Bytes behind
 * the known fields belong to later versions.
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
uint8_t wire_read_enumeration(struct wire_reader *reader, uint8_t last);
struct wire_text wire_read_text(struct wire_reader *reader);
struct wire_bytes wire_read_bytes(struct wire_reader *reader);
struct wire_elements wire_read_texts(struct wire_reader *reader);
struct wire_elements wire_read_integers(struct wire_reader *reader);
struct wire_elements wire_read_records(struct wire_reader *reader);

/* These functions return false at the end of the list. */
bool wire_next_text(struct wire_elements *list, struct wire_text *value);
bool wire_next_u32(struct wire_elements *list, uint32_t *value);
bool wire_next_record(struct wire_elements *list, struct wire_reader *record);

/* A writer fails if memory is short, or a text is longer than 65,535 bytes. It then writes nothing more. */
struct wire_writer {
  uint8_t *data;
  size_t length;
  size_t capacity;
  bool failed;
};

/* Appends space for `length` bytes. Returns NULL after a failure. */
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
/* A list of texts has a count of 16 bits, any other list one of 32 bits. */
void wire_write_texts(struct wire_writer *writer, struct wire_elements value);
void wire_write_elements(struct wire_writer *writer, struct wire_elements value);

/* NULL becomes an empty text. */
struct wire_text wire_text_of(const char *text);

#endif
