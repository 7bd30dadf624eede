/* SPDX-License-Identifier: Apache-2.0 */
#include "vectors.h"

void vector_print_number(FILE *out, const char *before, uint64_t number)
{
  fprintf(out, "%s%" PRIu64, before, number);
}

void vector_print_text(FILE *out, const char *before, struct wire_text text)
{
  fprintf(out, "%s\"", before);
  for (size_t i = 0; i < text.length; i++) {
    if (text.data[i] == '"' || text.data[i] == '\\') {
      fprintf(out, "\\%c", text.data[i]);
    } else if (text.data[i] == '\n') {
      fputs("\\n", out);
    } else {
      fputc(text.data[i], out);
    }
  }
  fputc('"', out);
}

void vector_print_bytes(FILE *out, const char *before, struct wire_bytes bytes)
{
  fprintf(out, "%s\"", before);
  for (size_t i = 0; i < bytes.length; i++) {
    fprintf(out, "%02x", bytes.data[i]);
  }
  fputc('"', out);
}

void vector_print_texts(FILE *out, const char *before, struct wire_elements texts)
{
  struct wire_text text;
  fprintf(out, "%s[", before);
  for (const char *comma = ""; wire_next_text(&texts, &text); comma = ",") {
    vector_print_text(out, comma, text);
  }
  fputc(']', out);
}

void vector_print_integers(FILE *out, const char *before, struct wire_elements integers)
{
  uint32_t integer;
  fprintf(out, "%s[", before);
  for (const char *comma = ""; wire_next_u32(&integers, &integer); comma = ",") {
    fprintf(out, "%s%" PRIu32, comma, integer);
  }
  fputc(']', out);
}
