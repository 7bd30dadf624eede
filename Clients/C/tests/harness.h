/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_HARNESS_H
#define TRIBUNE_HARNESS_H

/* Runs tests. Each test has a process of its own, and a deadline. */

#include <stdbool.h>
#include <stddef.h>

struct test {
  const char *name;
  void (*run)(void);
};

/* The test's folder. It is removed after the test. */
extern char test_folder[];

/* Runs all tests, or those whose names contain the first argument. */
int run_tests(const struct test *tests, size_t count, int argc, char **argv);

_Noreturn void fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define CHECK(condition) ((condition) ? (void)0 : fail(__FILE__, __LINE__, "%s", #condition))
#define CHECK_EQUAL(found, expected)                                               \
  do {                                                                             \
    long long found_ = (long long)(found), expected_ = (long long)(expected);      \
    if (found_ != expected_) {                                                     \
      fail(__FILE__, __LINE__, "%s is %lld, not %lld", #found, found_, expected_); \
    }                                                                              \
  } while (0)
#define CHECK_TEXT(found, expected) check_text(__FILE__, __LINE__, #found, (found), (expected))

void check_text(const char *file, int line, const char *what, const char *found, const char *expected);

#endif
