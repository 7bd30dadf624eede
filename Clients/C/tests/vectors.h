/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_VECTORS_H
#define TRIBUNE_VECTORS_H

#include <inttypes.h>
#include <stdio.h>

#include "../src/frame.h"

const char *vector_kind_word(uint8_t kind);
/* False for invalid fields. */
bool vector_print_fields(FILE *out, uint8_t kind, struct wire_reader *reader);
/* False for invalid fields. */
bool vector_copy_fields(uint8_t kind, struct wire_reader *reader, struct wire_writer *writer);

void vector_print_text(FILE *out, const uint8_t *data, size_t length);
void vector_print_hexadecimal(FILE *out, const uint8_t *data, size_t length);
void vector_print_texts(FILE *out, struct wire_elements texts);
void vector_print_integers(FILE *out, struct wire_elements integers);

#endif
