/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_NAMES_H
#define TRIBUNE_NAMES_H

/* Names, patterns and objects: what they look like, and which match. */

#include <stdbool.h>

#include "../include/tribune.h"

/* The length of the UTF-8 sequence at `at`, and the character that it is; 0 if it is none. */
size_t utf8_decode(const unsigned char *at, uint32_t *character);
/* Whether a character could act on a terminal. */
bool character_is_control(uint32_t character);

/* Whether it is a name that others than the bus may use. */
bool name_is_valid(const char *name);
bool name_is_reserved(const char *name);
bool pattern_is_valid(const char *pattern);
/* NULL and the empty text are valid: none, or any. */
bool object_is_valid(const char *object);

/* Whether the bus sends a notification of this name for the pattern; the empty one stands for any. */
bool pattern_matches(const char *pattern, const char *name);
/* Whether a notification of this name also goes to delegates: its last token is `will` or `did` and a verb. */
bool name_is_will_or_did(const char *name);
/* Whether a delegate that responds to this pattern can receive notifications. */
bool pattern_can_match_will_or_did(const char *pattern);

/* Check an argument of the program: 0, or -EINVAL or -EACCES with the reason. */
int require_name(const char *name, tribune_error *error);
int require_pattern(const char *pattern, tribune_error *error);
int require_object(const char *object, tribune_error *error);

#endif
