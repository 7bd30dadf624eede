/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_VECTORS_H
#define TRIBUNE_VECTORS_H

#include <inttypes.h>
#include <stdio.h>

#include "../src/frame.h"

extern const char *const vector_kind_words[256];

/* Reads the fields, then prints them, writes them, or both. Returns false for invalid fields. */
bool vector_handle_fields(uint8_t kind, struct wire_reader *reader, FILE *out, struct wire_writer *writer);

void vector_print_number(FILE *out, const char *before, uint64_t number);
void vector_print_text(FILE *out, const char *before, struct wire_text text);
void vector_print_bytes(FILE *out, const char *before, struct wire_bytes bytes);
void vector_print_texts(FILE *out, const char *before, struct wire_elements texts);
void vector_print_integers(FILE *out, const char *before, struct wire_elements integers);

#endif
