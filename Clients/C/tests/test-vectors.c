/* SPDX-License-Identifier: Apache-2.0 */

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "vectors.h"

#ifndef VECTORS
#define VECTORS "../../Tests/Unit/TribuneWireTests/Vectors"
#endif

struct vector {
  char name[64];
  uint8_t *data;
  size_t length;
};

static struct vector vectors[256];
static size_t count;

static int digit(char letter)
{
  const char *digits = "0123456789abcdef0123456789ABCDEF";
  const char *found = letter == '\0' ? NULL : strchr(digits, letter);
  return found == NULL ? -1 : (int)(found - digits) % 16;
}

/* Reads a file that has two hexadecimal digits for each byte. # begins a comment. */
static void read_vector(const char *path, struct vector *vector)
{
  FILE *file = fopen(path, "re");
  CHECK(file != NULL);
  char line[512];
  struct wire_writer bytes = {0};
  while (fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "#\n")] = '\0';
    for (const char *at = line; *at != '\0'; at++) {
      if (digit(at[0]) >= 0 && digit(at[1]) >= 0) {
        wire_write_u8(&bytes, (uint8_t)(digit(at[0]) << 4 | digit(at[1])));
        at++;
      }
    }
  }
  fclose(file);
  /* The allocation has the exact size, so a sanitizer notices any access beyond the end. */
  vector->length = bytes.length;
  vector->data = malloc(bytes.length);
  CHECK(vector->data != NULL);
  memcpy(vector->data, bytes.data, bytes.length);
  wire_writer_free(&bytes);
}

static void read_vectors(void)
{
  DIR *folder = opendir(VECTORS);
  CHECK(folder != NULL);
  struct dirent *entry;
  while ((entry = readdir(folder)) != NULL) {
    size_t length = strlen(entry->d_name);
    if (length <= 4 || strcmp(entry->d_name + length - 4, ".hex") != 0) {
      continue;
    }
    CHECK(count < sizeof vectors / sizeof *vectors && length < sizeof vectors->name);
    memcpy(vectors[count].name, entry->d_name, length - 4);
    char path[512];
    snprintf(path, sizeof path, "%s/%s", VECTORS, entry->d_name);
    read_vector(path, &vectors[count++]);
  }
  closedir(folder);
  CHECK(count > 50);
}

static bool is_hello(const struct vector *vector)
{
  return strncmp(vector->name, "hello", 5) == 0;
}

static struct header header_of(const struct vector *vector)
{
  struct header header;
  CHECK(vector->length >= HEADER_LENGTH);
  CHECK_EQUAL(header_decode(vector->data, &frame_limits_of_bus, &header), 0);
  CHECK_EQUAL(header.length, vector->length);
  return header;
}

/* Returns the frame's contents as text. The caller frees it. */
static char *said(const struct vector *vector)
{
  struct header header = header_of(vector);
  const uint8_t *fields = vector->data + HEADER_LENGTH;
  const uint8_t *name = fields + header.fields_length;
  const uint8_t *object = name + header.name_length;
  const uint8_t *payload = object + header.object_length;
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  CHECK(out != NULL);
  fputs("{\"fields\":", out);
  struct wire_reader reader = wire_reader_of(fields, header.fields_length);
  if (header.fields_length == 0) {
    fputs("{}", out);
  } else if (!vector_handle_fields(header.kind, &reader, out, NULL)) {
    fail(__FILE__, __LINE__, "%s: the fields are not valid", vector->name);
  }
  fprintf(out, ",\"flags\":%u,\"kind\":\"%s\"", header.flags, vector_kind_words[header.kind]);
  vector_print_text(out, ",\"name\":", (struct wire_text){name, header.name_length});
  vector_print_text(out, ",\"object\":", (struct wire_text){object, header.object_length});
  vector_print_bytes(out, ",\"payload\":", (struct wire_bytes){payload, header_payload_length(&header)});
  fprintf(out, ",\"sender\":%" PRIu64 ",\"serial\":%" PRIu64 "}", header.sender, header.serial);
  fclose(out);
  return text;
}

static void test_every_frame_says_what_the_index_says(void)
{
  read_vectors();
  FILE *index = fopen(VECTORS "/index.json", "re");
  CHECK(index != NULL);
  size_t compared = 0;
  char *line = NULL;
  size_t capacity = 0;
  while (getline(&line, &capacity, index) > 0) {
    if (line[0] != ' ') {
      continue;
    }
    char *name = line + 3;
    char *end = strchr(name, '"');
    CHECK(end != NULL);
    *end = '\0';
    char *expected = end + 3;
    expected[strcspn(expected, "\n")] = '\0';
    size_t length = strlen(expected);
    if (expected[length - 1] == ',') {
      expected[length - 1] = '\0';
    }
    size_t i = 0;
    while (i < count && strcmp(vectors[i].name, name) != 0) {
      i++;
    }
    CHECK(i < count);
    char *found = said(&vectors[i]);
    check_text(name, 0, "the frame", found, expected);
    free(found);
    compared++;
  }
  free(line);
  fclose(index);
  size_t frames = 0;
  for (size_t i = 0; i < count; i++) {
    frames += !is_hello(&vectors[i]);
  }
  CHECK_EQUAL(compared, frames);
}

static void test_every_frame_is_written_as_it_was(void)
{
  read_vectors();
  for (size_t i = 0; i < count; i++) {
    if (is_hello(&vectors[i])) {
      continue;
    }
    struct header header = header_of(&vectors[i]);
    const uint8_t *fields = vectors[i].data + HEADER_LENGTH;
    char name[256] = "";
    char object[256] = "";
    memcpy(name, fields + header.fields_length, header.name_length);
    memcpy(object, fields + header.fields_length + header.name_length, header.object_length);
    uint32_t payload_length = header_payload_length(&header);
    struct wire_writer writer = {0};
    frame_begin(&writer, header.kind, header.flags, header.serial);
    struct wire_reader reader = wire_reader_of(fields, header.fields_length);
    CHECK(vector_handle_fields(header.kind, &reader, NULL, &writer));
    frame_end(&writer, name, object, vectors[i].data + vectors[i].length - payload_length, payload_length);
    CHECK(!writer.failed);
    CHECK_EQUAL(writer.length, vectors[i].length);
    /* The bus writes the sender. */
    memcpy(writer.data + 8, vectors[i].data + 8, 8);
    if (memcmp(writer.data, vectors[i].data, writer.length) != 0) {
      fail(__FILE__, __LINE__, "%s: other bytes", vectors[i].name);
    }
    wire_writer_free(&writer);
  }
}

static void test_fields_that_end_early_are_refused(void)
{
  read_vectors();
  for (size_t i = 0; i < count; i++) {
    if (is_hello(&vectors[i])) {
      continue;
    }
    struct header header = header_of(&vectors[i]);
    for (uint32_t length = 0; length < header.fields_length; length++) {
      uint8_t *cut = malloc(length == 0 ? 1 : length);
      CHECK(cut != NULL);
      memcpy(cut, vectors[i].data + HEADER_LENGTH, length);
      struct wire_reader reader = wire_reader_of(cut, length);
      struct wire_writer writer = {0};
      bool may_be_empty = header.kind == WIRE_KIND_POST || header.kind == WIRE_KIND_OBSERVE;
      CHECK(vector_handle_fields(header.kind, &reader, NULL, &writer) == (length == 0 && may_be_empty));
      wire_writer_free(&writer);
      free(cut);
    }
  }
}

static void test_fields_of_later_versions_are_ignored(void)
{
  read_vectors();
  for (size_t i = 0; i < count; i++) {
    if (is_hello(&vectors[i]) || header_of(&vectors[i]).fields_length == 0) {
      continue;
    }
    struct header header = header_of(&vectors[i]);
    uint8_t *longer = calloc(1, header.fields_length + 7);
    CHECK(longer != NULL);
    memcpy(longer, vectors[i].data + HEADER_LENGTH, header.fields_length);
    struct wire_reader reader = wire_reader_of(longer, header.fields_length + 7);
    struct wire_writer writer = {0};
    CHECK(vector_handle_fields(header.kind, &reader, NULL, &writer));
    if (header.kind != WIRE_KIND_MONITOR) {
      CHECK_EQUAL(writer.length, header.fields_length);
      CHECK(memcmp(writer.data, vectors[i].data + HEADER_LENGTH, writer.length) == 0);
    }
    wire_writer_free(&writer);
    free(longer);
  }
}

static void test_hellos_are_read_and_written(void)
{
  static const struct {
    const char *name;
    struct hello hello;
  } hellos[] = {
      {"hello", {1, 1, 0}},
      {"hello-descriptors", {1, 1, ACCEPTS_DESCRIPTORS}},
      {"hello-newer", {3, 1, 0}},
      {"hello-posters", {1, 1, ACCEPTS_DESCRIPTORS | WANTS_POSTERS}},
  };
  read_vectors();
  size_t found = 0;
  for (size_t i = 0; i < count; i++) {
    if (!is_hello(&vectors[i])) {
      continue;
    }
    for (size_t j = 0; j < sizeof hellos / sizeof *hellos; j++) {
      if (strcmp(vectors[i].name, hellos[j].name) != 0) {
        continue;
      }
      struct hello hello;
      CHECK_EQUAL(vectors[i].length, HELLO_LENGTH);
      CHECK_EQUAL(hello_decode(vectors[i].data, &hello), 0);
      CHECK_EQUAL(hello.version, hellos[j].hello.version);
      CHECK_EQUAL(hello.minimum, hellos[j].hello.minimum);
      CHECK_EQUAL(hello.capabilities, hellos[j].hello.capabilities);
      uint8_t data[HELLO_LENGTH];
      hello_encode(data, &hello);
      CHECK(memcmp(data, vectors[i].data, HELLO_LENGTH) == 0);
      found++;
    }
  }
  CHECK_EQUAL(found, sizeof hellos / sizeof *hellos);
}

static void test_lengths_that_do_not_fit_are_refused(void)
{
  uint8_t data[HEADER_LENGTH] = {31};
  struct header header;
  CHECK_EQUAL(header_decode(data, &frame_limits_of_bus, &header), -EBADMSG);
  data[0] = 40;
  data[24] = 9;
  CHECK_EQUAL(header_decode(data, &frame_limits_of_bus, &header), -EBADMSG);
  data[24] = 8;
  CHECK_EQUAL(header_decode(data, &frame_limits_of_bus, &header), 0);
  memset(data, 0xFF, sizeof data);
  CHECK_EQUAL(header_decode(data, &frame_limits_of_bus, &header), -EBADMSG);
  memset(data + 24, 0, 4);
  CHECK_EQUAL(header_decode(data, &frame_limits_of_bus, &header), -EMSGSIZE);
}

static const struct test tests[] = {
    {"every frame says what the index says", test_every_frame_says_what_the_index_says},
    {"every frame is written as it was", test_every_frame_is_written_as_it_was},
    {"fields that end early are refused", test_fields_that_end_early_are_refused},
    {"fields of later versions are ignored", test_fields_of_later_versions_are_ignored},
    {"hellos are read and written", test_hellos_are_read_and_written},
    {"lengths that do not fit are refused", test_lengths_that_do_not_fit_are_refused},
};

int main(int argc, char **argv)
{
  return run_tests(tests, sizeof tests / sizeof *tests, argc, argv);
}
