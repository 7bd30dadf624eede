/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

#define SECONDS(n) ((uint64_t)(n)*1000000)

static void path_in_folder(char *path, size_t size, const char *name)
{
  CHECK((size_t)snprintf(path, size, "%s/%s", test_folder, name) < size);
}

pid_t fork_child(void)
{
  pid_t parent = getpid();
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
      _exit(1);
    }
  }
  return child;
}

static pid_t spawn(char *const arguments[])
{
  char notify[108];
  path_in_folder(notify, sizeof notify, "notify");
  unlink(notify);
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  strcpy(name.sun_path, notify);
  int ready = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  CHECK(ready >= 0);
  CHECK_EQUAL(bind(ready, (struct sockaddr *)&name, sizeof name), 0);
  const char *folder = getenv("TRIBUNE_BIN_DIR");
  char program[512];
  snprintf(program, sizeof program, "%s/tribuned", folder == NULL ? "../../.build/release" : folder);
  if (access(program, X_OK) < 0) {
    fail(__FILE__, __LINE__, "there is no %s: TRIBUNE_BIN_DIR says where the programs are", program);
  }
  pid_t child = fork_child();
  if (child == 0) {
    setenv("NOTIFY_SOCKET", notify, 1);
    char log[128];
    path_in_folder(log, sizeof log, "log");
    (void)!freopen("/dev/null", "r", stdin);
    (void)!freopen(log, "a", stderr);
    (void)!freopen(log, "a", stdout);
    execv(program, arguments);
    _exit(127);
  }
  char said[4096] = "";
  while (strstr(said, "READY=1") == NULL) {
    ssize_t length = recv(ready, said, sizeof said - 1, 0);
    CHECK(length >= 0);
    said[length] = '\0';
  }
  close(ready);
  return child;
}

void daemon_start_again(struct daemon *daemon)
{
  char config[128];
  char listen[128];
  char keeper[128];
  snprintf(config, sizeof config, "--config=%s/etc", test_folder);
  snprintf(listen, sizeof listen, "--listen=%s/bus", test_folder);
  snprintf(keeper, sizeof keeper, "--keeper=%s/keeper", test_folder);
  char program[] = "tribuned";
  char *arguments[] = {program, config, listen, daemon->keeper > 0 ? keeper : NULL, NULL};
  daemon->bus = spawn(arguments);
}

void daemon_start(struct daemon *daemon, bool has_keeper)
{
  char path[128];
  path_in_folder(path, sizeof path, "etc");
  CHECK_EQUAL(mkdir(path, 0700), 0);
  *daemon = (struct daemon){0};
  snprintf(daemon->address, sizeof daemon->address, "unix:%s/bus", test_folder);
  if (has_keeper) {
    snprintf(path, sizeof path, "--listen=%s/keeper", test_folder);
    char program[] = "tribuned";
    char keep[] = "--keep";
    char *arguments[] = {program, keep, path, NULL};
    daemon->keeper = spawn(arguments);
  }
  daemon_start_again(daemon);
}

void daemon_stop(struct daemon *daemon, int signal)
{
  CHECK_EQUAL(kill(daemon->bus, signal), 0);
  CHECK_EQUAL(waitpid(daemon->bus, NULL, 0), daemon->bus);
}

tribune *connect_to(const struct daemon *daemon)
{
  tribune *bus;
  tribune_error error;
  SUCCEED(tribune_open(&bus, daemon->address, 0, SECONDS(30), &error), &error);
  return bus;
}

void record_message(tribune_slot *slot, tribune_message *message, void *userdata)
{
  struct record *record = userdata;
  tribune_type type = tribune_message_get_type(message);
  record->counts[type]++;
  record->lost += tribune_message_get_lost(message);
  tribune_message *before = record->messages[type];
  record->messages[type] = tribune_message_ref(message);
  tribune_message_unref(before);
  if (record->handle != NULL) {
    record->handle(slot, message, record);
  }
}

void record_end(struct record *record)
{
  for (size_t i = 0; i <= TRIBUNE_LATE; i++) {
    record->messages[i] = tribune_message_unref(record->messages[i]);
  }
}

tribune_message *await_message(tribune *bus, struct record *record, tribune_type type, unsigned count)
{
  while (record->counts[type] < count) {
    tribune_error error;
    int result = tribune_process(bus, &error);
    SUCCEED(result, &error);
    if (result == 0) {
      SUCCEED(tribune_wait(bus, UINT64_MAX), NULL);
    }
    if (type != TRIBUNE_ENDED && record->counts[TRIBUNE_ENDED] > 0) {
      fail(__FILE__, __LINE__, "ended: %s", tribune_message_get_error(record->messages[TRIBUNE_ENDED])->message);
    }
  }
  return record->messages[type];
}

tribune_error await_end(tribune *bus)
{
  tribune_error error = {0};
  while (tribune_process(bus, &error) >= 0) {
    SUCCEED(tribune_wait(bus, UINT64_MAX), NULL);
  }
  return error;
}

void check_success(const char *file, int line, int result, const tribune_error *error)
{
  if (result < 0) {
    fail(file, line, "failed with %s: %s", strerror(-result), error == NULL ? "" : error->message);
  }
}
