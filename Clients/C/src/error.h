/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_ERRORS_H
#define TRIBUNE_ERRORS_H

/* These functions fill `error`, which may be NULL. Each returns a negative errno. */

#include "../include/tribune.h"

int error_set(tribune_error *error, int number, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int error_system(tribune_error *error, int number, const char *what);
/* `code` is a code of the protocol. */
int error_refusal(tribune_error *error, uint16_t code, const char *text);
int error_violation(tribune_error *error, const char *what);
int error_number(tribune_error *error, int number);

#endif
