/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_NAMES_H
#define TRIBUNE_NAMES_H

#include <stdbool.h>

#include "../include/tribune.h"

/* Decodes a character. Returns its length in bytes, or 0 if it is invalid. */
size_t utf8_decode(const unsigned char *at, uint32_t *character);
bool character_is_control(uint32_t character);

bool name_is_valid(const char *name);
bool name_is_reserved(const char *name);
bool pattern_is_valid(const char *pattern);
/* NULL and the empty text are valid. */
bool object_is_valid(const char *object);

/* The empty pattern matches any name that is not reserved. */
bool pattern_matches(const char *pattern, const char *name);
/* True if the last token is `will` or `did`, followed by a verb. */
bool name_is_will_or_did(const char *name);
bool pattern_can_match_will_or_did(const char *pattern);

/* These functions return 0, -EINVAL, or -EACCES for a reserved name. */
int require_name(const char *name, tribune_error *error);
int require_pattern(const char *pattern, tribune_error *error);
int require_object(const char *object, tribune_error *error);

#endif
