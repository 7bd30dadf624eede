/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends a test that hangs. The time is long, because valgrind makes everything slow. */
#define DEADLINE_S 60

char test_folder[64];

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
  (void)status, (void)type, (void)place;
  return remove(path);
}

void fail(const char *file, int line, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s:%d: ", file, line);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

void check_text(const char *file, int line, const char *what, const char *found, const char *expected)
{
  if (found == NULL || strcmp(found, expected) != 0) {
    fail(file, line, "%s is \"%s\", not \"%s\"", what, found == NULL ? "(null)" : found, expected);
  }
}

static bool passes(const struct test *test)
{
  strcpy(test_folder, "/tmp/tribune-c-XXXXXX");
  if (mkdtemp(test_folder) == NULL) {
    perror(test_folder);
    return false;
  }
  fflush(NULL);
  sigset_t ended;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ended, NULL);
  pid_t child = fork();
  if (child < 0) {
    perror("fork");
    return false;
  }
  if (child == 0) {
    sigprocmask(SIG_UNBLOCK, &ended, NULL);
    test->run();
    exit(0);
  }
  bool is_late = sigtimedwait(&ended, NULL, &(struct timespec){.tv_sec = DEADLINE_S}) < 0;
  if (is_late) {
    kill(child, SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  nftw(test_folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  if (is_late) {
    fprintf(stderr, "%s: not done in %d s\n", test->name, DEADLINE_S);
  } else if (status != 0) {
    fprintf(stderr, "%s: failed with wait status %d\n", test->name, status);
  }
  return status == 0 && !is_late;
}

int run_tests(const struct test *tests, size_t count, int argc, char **argv)
{
  size_t ran = 0;
  size_t failed = 0;
  for (size_t i = 0; i < count; i++) {
    if (argc > 1 && strstr(tests[i].name, argv[1]) == NULL) {
      continue;
    }
    ran++;
    failed += !passes(&tests[i]);
  }
  printf("%s: %zu tests, %zu failed\n", argv[0], ran, failed);
  return ran == 0 || failed > 0;
}
