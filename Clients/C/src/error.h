/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_ERRORS_H
#define TRIBUNE_ERRORS_H

/* Fills errors. Each function returns the negative errno, and takes NULL for an error that nobody wants. */

#include "../include/tribune.h"

int error_set(tribune_error *error, int number, int code, const char *format, ...)
  __attribute__((format(printf, 4, 5)));
/* A system call has failed: `what` did not work, with this errno. */
int error_system(tribune_error *error, int number, const char *what);
/* The bus has refused something, with one of the protocol's codes and a text. */
int error_refusal(tribune_error *error, uint16_t code, const char *text);
/* The bus has sent what it may not send. */
int error_violation(tribune_error *error, const char *what);
/* Of a function that has returned a negative errno without more. */
int error_number(tribune_error *error, int number);

#endif
