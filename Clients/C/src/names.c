/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include <errno.h>
#include <string.h>

#include "error.h"
#include "wire.h"

static const char reserved[] = "tribune.";

static bool is_in_token(char letter)
{
  return (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9')
         || letter == '_' || letter == '-';
}

static size_t token_length(const char *token)
{
  return strcspn(token, ".");
}

/* In a pattern, a token may be `*`, and the last one `**`. */
static bool is_of_tokens(const char *text, bool is_pattern)
{
  if (strlen(text) > WIRE_NAME_LENGTH) {
    return false;
  }
  for (const char *at = text;; at++) {
    size_t length = token_length(at);
    bool is_last = at[length] == '\0';
    bool is_star = is_pattern && at[0] == '*' && (length == 1 || (length == 2 && at[1] == '*' && is_last));
    for (size_t i = 0; i < length && !is_star; i++) {
      if (!is_in_token(at[i])) {
        return false;
      }
    }
    if (length == 0) {
      return false;
    }
    if (is_last) {
      return true;
    }
    at += length;
  }
}

bool name_is_reserved(const char *name)
{
  return strncmp(name, reserved, sizeof reserved - 1) == 0;
}

bool name_is_valid(const char *name)
{
  return is_of_tokens(name, false);
}

bool pattern_is_valid(const char *pattern)
{
  return is_of_tokens(pattern, true);
}

size_t utf8_decode(const unsigned char *at, uint32_t *character)
{
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t length = at[0] < 0x80 ? 1 : at[0] < 0xC2 ? 0 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : at[0] < 0xF5 ? 4 : 0;
  *character = length <= 1 ? at[0] : at[0] & (0x7Fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((at[i] & 0xC0) != 0x80) {
      return 0;
    }
    *character = *character << 6 | (at[i] & 0x3Fu);
  }
  bool is_surrogate = *character >= 0xD800 && *character <= 0xDFFF;
  return *character < least[length] || *character > 0x10FFFF || is_surrogate ? 0 : length;
}

bool character_is_control(uint32_t character)
{
  return character < 0x20 || (character >= 0x7F && character < 0xA0);
}

bool object_is_valid(const char *object)
{
  const unsigned char *at = (const unsigned char *)(object == NULL ? "" : object);
  if (strlen((const char *)at) > WIRE_OBJECT_LENGTH) {
    return false;
  }
  while (*at != '\0') {
    uint32_t character;
    size_t length = utf8_decode(at, &character);
    if (length == 0 || character_is_control(character)) {
      return false;
    }
    at += length;
  }
  return true;
}

bool pattern_matches(const char *pattern, const char *name)
{
  if (name_is_reserved(name) && !name_is_reserved(pattern)) {
    return false;
  }
  if (pattern[0] == '\0') {
    return true;
  }
  for (;;) {
    size_t wanted = token_length(pattern);
    size_t found = token_length(name);
    if (wanted == 2 && pattern[0] == '*') {
      return true;
    }
    bool is_any = wanted == 1 && pattern[0] == '*';
    if (!is_any && (wanted != found || memcmp(pattern, name, found) != 0)) {
      return false;
    }
    pattern += wanted;
    name += found;
    if (*pattern != *name) {
      return false;
    }
    if (*name == '\0') {
      return true;
    }
    pattern++;
    name++;
  }
}

static const char *last_token(const char *text)
{
  const char *dot = strrchr(text, '.');
  return dot == NULL ? text : dot + 1;
}

bool name_is_will_or_did(const char *name)
{
  const char *token = last_token(name);
  size_t length = strncmp(token, "will", 4) == 0 ? 4 : strncmp(token, "did", 3) == 0 ? 3 : 0;
  /* `willClose` has a verb, but `willing` has none. */
  return length > 0 && token[length] != '\0' && !(token[length] >= 'a' && token[length] <= 'z')
         && !name_is_reserved(name);
}

bool pattern_can_match_will_or_did(const char *pattern)
{
  return last_token(pattern)[0] == '*' || name_is_will_or_did(last_token(pattern));
}

int require_name(const char *name, tribune_error *error)
{
  if (name == NULL || !name_is_valid(name)) {
    return error_set(error, -EINVAL, TRIBUNE_ERROR_INVALID_NAME,
                     "\"%s\" is not a name: dot-separated tokens of A-Z a-z 0-9 _ -", name == NULL ? "" : name);
  }
  if (name_is_reserved(name)) {
    return error_set(error, -EACCES, TRIBUNE_ERROR_RESERVED_NAME, "%s is reserved for the bus", name);
  }
  return 0;
}

int require_pattern(const char *pattern, tribune_error *error)
{
  if (pattern == NULL || !pattern_is_valid(pattern)) {
    return error_set(error, -EINVAL, TRIBUNE_ERROR_INVALID_PATTERN,
                     "\"%s\" is not a pattern: a name with * for one token, and ** at the end for one or more",
                     pattern == NULL ? "" : pattern);
  }
  return 0;
}

int require_object(const char *object, tribune_error *error)
{
  if (!object_is_valid(object)) {
    return error_set(error, -EINVAL, TRIBUNE_ERROR_INVALID_OBJECT,
                     "\"%s\" is not an object: UTF-8 without control characters, at most %u bytes", object,
                     WIRE_OBJECT_LENGTH);
  }
  return 0;
}
