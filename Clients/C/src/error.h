/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_ERRORS_H
#define TRIBUNE_ERRORS_H

/* Each function fills an error, which may be NULL, and returns its negative errno. */

#include "../include/tribune.h"

int error_set(tribune_error *error, int number, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A system call has failed with this negative errno. `what` says for what. */
int error_system(tribune_error *error, int number, const char *what);
/* A refusal by the bus, with a code of the protocol. */
int error_refusal(tribune_error *error, uint16_t code, const char *text);
/* The bus has broken the protocol. */
int error_violation(tribune_error *error, const char *what);
/* For a function that reports a negative errno alone. */
int error_number(tribune_error *error, int number);

#endif
