/* SPDX-License-Identifier: Apache-2.0 */
#include "vectors.h"

void vector_print_text(FILE *out, const uint8_t *data, size_t length)
{
  fputc('"', out);
  for (size_t i = 0; i < length; i++) {
    if (data[i] == '"' || data[i] == '\\') {
      fprintf(out, "\\%c", data[i]);
    } else if (data[i] == '\n') {
      fputs("\\n", out);
    } else {
      fputc(data[i], out);
    }
  }
  fputc('"', out);
}

void vector_print_hexadecimal(FILE *out, const uint8_t *data, size_t length)
{
  fputc('"', out);
  for (size_t i = 0; i < length; i++) {
    fprintf(out, "%02x", data[i]);
  }
  fputc('"', out);
}

void vector_print_texts(FILE *out, struct wire_elements texts)
{
  struct wire_text text;
  fputc('[', out);
  for (const char *comma = ""; wire_next_text(&texts, &text); comma = ",") {
    fputs(comma, out);
    vector_print_text(out, text.data, text.length);
  }
  fputc(']', out);
}

void vector_print_integers(FILE *out, struct wire_elements integers)
{
  uint32_t integer;
  fputc('[', out);
  for (const char *comma = ""; wire_next_u32(&integers, &integer); comma = ",") {
    fprintf(out, "%s%" PRIu32, comma, integer);
  }
  fputc(']', out);
}
