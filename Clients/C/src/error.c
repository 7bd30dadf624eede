/* SPDX-License-Identifier: Apache-2.0 */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "names.h"
#include "wire.h"

static void make_printable(char *text, bool is_cut)
{
  unsigned char *at = (unsigned char *)text;
  while (*at != '\0') {
    uint32_t character;
    size_t length = utf8_decode(at, &character);
    if (length == 0 && is_cut && strlen((char *)at) < 4) {
      *at = '\0';
    } else if (length == 0 || (character_is_control(character) && character != '\n')) {
      memset(at, '?', length == 0 ? 1 : length);
    }
    at += length == 0 && *at != '\0' ? 1 : length;
  }
}

int error_set(tribune_error *error, int number, int code, const char *format, ...)
{
  if (error != NULL) {
    error->number = number;
    error->code = code;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    make_printable(error->message, length >= (int)sizeof error->message);
  }
  return number;
}

int error_system(tribune_error *error, int number, const char *what)
{
  char text[128];
  const char *reason = strerror_r(-number, text, sizeof text);
  return error_set(error, number, TRIBUNE_ERROR_SYSTEM, "%s: %s", what, reason);
}

int error_violation(tribune_error *error, const char *what)
{
  return error_set(error, -EPROTO, TRIBUNE_ERROR_PROTOCOL_VIOLATION, "the bus breaks the protocol: %s", what);
}

int error_number(tribune_error *error, int number)
{
  switch (number) {
  case -ECHILD:
    return error_set(error, number, TRIBUNE_ERROR_FORKED, "the connection belongs to the parent process");
  case -ENOTCONN:
    return error_set(error, number, TRIBUNE_ERROR_CONNECTION_LOST, "the connection has ended");
  case -ETIMEDOUT:
    return error_set(error, number, TRIBUNE_ERROR_TIMED_OUT, "the bus did not answer in time");
  case -ENOBUFS:
    return error_set(error, number, TRIBUNE_ERROR_QUEUE_FULL, "too much waits for the bus to read it");
  case -EMSGSIZE:
    return error_set(error, number, TRIBUNE_ERROR_PAYLOAD_TOO_LONG, "userInfo is longer than the bus accepts");
  case -EINVAL:
    return error_set(error, number, TRIBUNE_ERROR_INVALID_ARGUMENT, "an argument is not valid");
  case -EBADMSG:
    return error_violation(error, "a frame is not valid");
  default:
    return error_system(error, number, "the request failed");
  }
}

static int number_of(uint16_t code)
{
  switch ((enum wire_error_code)code) {
  case WIRE_ERROR_CODE_BAD_MAGIC:
  case WIRE_ERROR_CODE_FRAME_TOO_LONG:
  case WIRE_ERROR_CODE_MALFORMED_FRAME:
  case WIRE_ERROR_CODE_UNKNOWN_CRITICAL_KIND:
  case WIRE_ERROR_CODE_UNEXPECTED_DESCRIPTORS:
  case WIRE_ERROR_CODE_MISSING_DESCRIPTOR:
  case WIRE_ERROR_CODE_AFTER_LAST:
    return -EPROTO;
  case WIRE_ERROR_CODE_UNSUPPORTED_VERSION:
    return -EPROTONOSUPPORT;
  case WIRE_ERROR_CODE_HELLO_TIMEOUT:
  case WIRE_ERROR_CODE_FRAME_TIMEOUT:
  case WIRE_ERROR_CODE_TOO_SLOW:
    return -ECONNABORTED;
  case WIRE_ERROR_CODE_TOO_MANY_CONNECTIONS:
  case WIRE_ERROR_CODE_OUT_OF_MEMORY:
  case WIRE_ERROR_CODE_LIMIT_EXCEEDED:
    return -ENOSPC;
  case WIRE_ERROR_CODE_SHUTTING_DOWN:
    return -ESHUTDOWN;
  case WIRE_ERROR_CODE_RESTARTED:
    return -ECONNRESET;
  case WIRE_ERROR_CODE_INVALID_NAME:
  case WIRE_ERROR_CODE_INVALID_PATTERN:
  case WIRE_ERROR_CODE_INVALID_OBJECT:
  case WIRE_ERROR_CODE_INVALID_VALUE:
  case WIRE_ERROR_CODE_INVALID_PROTOCOL:
  case WIRE_ERROR_CODE_NOT_CONFORMING:
  case WIRE_ERROR_CODE_INVALID_PARAMETER:
  case WIRE_ERROR_CODE_INVALID_DESCRIPTOR:
    return -EINVAL;
  case WIRE_ERROR_CODE_RESERVED_NAME:
  case WIRE_ERROR_CODE_NOT_PERMITTED:
    return -EACCES;
  case WIRE_ERROR_CODE_DUPLICATE_SERIAL:
  case WIRE_ERROR_CODE_CONFLICT:
    return -EEXIST;
  case WIRE_ERROR_CODE_NOT_FOUND:
  case WIRE_ERROR_CODE_UNKNOWN_PROTOCOL:
  case WIRE_ERROR_CODE_UNKNOWN_NAME:
    return -ENOENT;
  case WIRE_ERROR_CODE_NOT_ASKED:
    return -ESTALE;
  case WIRE_ERROR_CODE_CANCELLED:
    return -ECANCELED;
  case WIRE_ERROR_CODE_RECURSION:
    return -ELOOP;
  case WIRE_ERROR_CODE_UNKNOWN_KIND:
    return -EOPNOTSUPP;
  }
  return -EREMOTEIO;
}

int error_refusal(tribune_error *error, uint16_t code, const char *text)
{
  return error_set(error, number_of(code), code, "%s", text[0] == '\0' ? "the bus gave no reason" : text);
}

/* The public codes are the protocol's numbers. */
_Static_assert((int)TRIBUNE_ERROR_UNSUPPORTED_VERSION == (int)WIRE_ERROR_CODE_UNSUPPORTED_VERSION, "");
_Static_assert((int)TRIBUNE_ERROR_TOO_SLOW == (int)WIRE_ERROR_CODE_TOO_SLOW, "");
_Static_assert((int)TRIBUNE_ERROR_TOO_MANY_CONNECTIONS == (int)WIRE_ERROR_CODE_TOO_MANY_CONNECTIONS, "");
_Static_assert((int)TRIBUNE_ERROR_OUT_OF_MEMORY == (int)WIRE_ERROR_CODE_OUT_OF_MEMORY, "");
_Static_assert((int)TRIBUNE_ERROR_SHUTTING_DOWN == (int)WIRE_ERROR_CODE_SHUTTING_DOWN, "");
_Static_assert((int)TRIBUNE_ERROR_RESTARTED == (int)WIRE_ERROR_CODE_RESTARTED, "");
_Static_assert((int)TRIBUNE_ERROR_INVALID_NAME == (int)WIRE_ERROR_CODE_INVALID_NAME, "");
_Static_assert((int)TRIBUNE_ERROR_INVALID_PATTERN == (int)WIRE_ERROR_CODE_INVALID_PATTERN, "");
_Static_assert((int)TRIBUNE_ERROR_INVALID_OBJECT == (int)WIRE_ERROR_CODE_INVALID_OBJECT, "");
_Static_assert((int)TRIBUNE_ERROR_INVALID_VALUE == (int)WIRE_ERROR_CODE_INVALID_VALUE, "");
_Static_assert((int)TRIBUNE_ERROR_RESERVED_NAME == (int)WIRE_ERROR_CODE_RESERVED_NAME, "");
_Static_assert((int)TRIBUNE_ERROR_NOT_FOUND == (int)WIRE_ERROR_CODE_NOT_FOUND, "");
_Static_assert((int)TRIBUNE_ERROR_LIMIT_EXCEEDED == (int)WIRE_ERROR_CODE_LIMIT_EXCEEDED, "");
_Static_assert((int)TRIBUNE_ERROR_CANCELLED == (int)WIRE_ERROR_CODE_CANCELLED, "");
_Static_assert((int)TRIBUNE_ERROR_RECURSION == (int)WIRE_ERROR_CODE_RECURSION, "");
_Static_assert((int)TRIBUNE_ERROR_NOT_PERMITTED == (int)WIRE_ERROR_CODE_NOT_PERMITTED, "");
_Static_assert((int)TRIBUNE_ERROR_UNKNOWN_PROTOCOL == (int)WIRE_ERROR_CODE_UNKNOWN_PROTOCOL, "");
_Static_assert((int)TRIBUNE_ERROR_NOT_CONFORMING == (int)WIRE_ERROR_CODE_NOT_CONFORMING, "");
_Static_assert((int)TRIBUNE_ERROR_UNKNOWN_NAME == (int)WIRE_ERROR_CODE_UNKNOWN_NAME, "");
_Static_assert((int)TRIBUNE_ERROR_INVALID_PARAMETER == (int)WIRE_ERROR_CODE_INVALID_PARAMETER, "");
_Static_assert((int)TRIBUNE_ERROR_CONFLICT == (int)WIRE_ERROR_CODE_CONFLICT, "");
