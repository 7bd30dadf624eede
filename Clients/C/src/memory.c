/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

int memory_seal(const void *data, size_t length)
{
  int fd = memfd_create("tribune", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) {
    return -errno;
  }
  int result = 0;
  for (size_t written = 0; written < length && result == 0;) {
    ssize_t count = write(fd, (const char *)data + written, length - written);
    if (count >= 0) {
      written += (size_t)count;
    } else if (errno != EINTR) {
      result = -errno;
    }
  }
  if (result == 0 && fcntl(fd, F_ADD_SEALS, SEALS) < 0) {
    result = -errno;
  }
  if (result < 0) {
    close(fd);
    return result;
  }
  return fd;
}

int memory_map(int fd, size_t length, void **ret)
{
  int seals = fcntl(fd, F_GET_SEALS);
  struct stat status;
  int result = 0;
  if (length < WIRE_DESCRIPTOR_PAYLOAD_LENGTH || length > WIRE_PAYLOAD_LENGTH_CEILING || seals < 0
      || (seals & SEALS) != SEALS || fstat(fd, &status) < 0 || (size_t)status.st_size != length) {
    result = -EBADMSG;
  } else {
    /* The seals keep the file from shrinking under the mapping. */
    *ret = mmap(NULL, length, PROT_READ, MAP_PRIVATE, fd, 0);
    result = *ret == MAP_FAILED ? -errno : 0;
  }
  close(fd);
  return result;
}
