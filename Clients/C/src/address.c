/* SPDX-License-Identifier: Apache-2.0 */
#include "address.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

static const char system_path[] = "/run/tribune/bus";

static int parse(struct address *address, const char *text, tribune_error *error)
{
  static const char scheme[] = "unix:";
  const char *path = text + sizeof scheme - 1;
  if (strncmp(text, scheme, sizeof scheme - 1) != 0 || path[0] == '\0' || strlen(path) >= sizeof address->path) {
    return error_set(error, -EINVAL, TRIBUNE_ERROR_INVALID_ADDRESS,
                     "\"%s\" is not an address of the form unix:PATH, with a path of 1 to %zu bytes", text,
                     sizeof address->path - 1);
  }
  memcpy(address->path, path, strlen(path) + 1);
  address->needs_own_server = false;
  return 0;
}

static bool is_own(struct address *address, const char *folder, size_t length, const char *suffix)
{
  int written = snprintf(address->path, sizeof address->path, "%.*s", (int)length, folder);
  struct stat status;
  if (length == 0 || written < 0 || (size_t)written + strlen(suffix) >= sizeof address->path
      || stat(address->path, &status) < 0 || status.st_uid != geteuid()) {
    return false;
  }
  memcpy(address->path + written, suffix, strlen(suffix) + 1);
  address->needs_own_server = true;
  return access(address->path, F_OK) == 0;
}

int address_find(struct address *address, const char *text, tribune_error *error)
{
  const char *preset = secure_getenv("TRIBUNE_ADDRESS");
  if (text != NULL || (preset != NULL && preset[0] != '\0')) {
    int result = parse(address, text != NULL ? text : preset, error);
    if (result == 0 && text == NULL && geteuid() == 0) {
      address->needs_own_server = strcmp(address->path, system_path) != 0;
    }
    return result;
  }
  /* systemd separates several directories with colons. */
  const char *folders = secure_getenv("RUNTIME_DIRECTORY");
  while (folders != NULL && *folders != '\0') {
    size_t length = strcspn(folders, ":");
    if (is_own(address, folders, length, "/bus")) {
      return 0;
    }
    folders += length + (folders[length] == ':');
  }
  const char *folder = geteuid() != 0 ? secure_getenv("XDG_RUNTIME_DIR") : NULL;
  if (folder != NULL && is_own(address, folder, strlen(folder), "/tribune/bus")) {
    return 0;
  }
  memcpy(address->path, system_path, sizeof system_path);
  address->needs_own_server = false;
  return 0;
}

static int require_server(const struct address *address, int fd, tribune_error *error)
{
  struct ucred credentials;
  socklen_t length = sizeof credentials;
  if (!address->needs_own_server) {
    return 0;
  }
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0) {
    return error_system(error, -errno, "the bus's user cannot be found out");
  }
  if (credentials.uid != 0 && credentials.uid != geteuid()) {
    return error_set(error, -EACCES, TRIBUNE_ERROR_NOT_PERMITTED,
                     "the bus at unix:%s is served by another user (uid %u), and cannot be trusted", address->path,
                     (unsigned)credentials.uid);
  }
  return 0;
}

/* Reports "no bus" if the listener is missing, busy or forbidden, and the system's error after other failures. */
static void connect_failed(const struct address *address, int result, tribune_error *error)
{
  char text[128];
  const char *reason = strerror_r(-result, text, sizeof text);
  bool is_down = result == -ENOENT || result == -ECONNREFUSED;
  if (is_down || result == -EAGAIN || result == -EACCES) {
    bool is_system = is_down && strcmp(address->path, system_path) == 0;
    error_set(error, result, result == -EACCES ? TRIBUNE_ERROR_NOT_PERMITTED : TRIBUNE_ERROR_UNREACHABLE,
              "no bus at unix:%s: %s%s", address->path, reason, is_system ? "; is tribuned.socket running?" : "");
  } else {
    error_set(error, result, TRIBUNE_ERROR_SYSTEM, "cannot connect to unix:%s: %s", address->path, reason);
  }
}

int address_connect(const struct address *address, tribune_error *error)
{
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return error_system(error, -errno, "cannot make a socket");
  }
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  memcpy(name.sun_path, address->path, sizeof name.sun_path);
  int result = connect(fd, (const struct sockaddr *)&name, sizeof name) < 0 ? -errno : 0;
  if (result < 0) {
    connect_failed(address, result, error);
  } else {
    result = require_server(address, fd, error);
  }
  if (result < 0) {
    close(fd);
    return result;
  }
  return fd;
}
