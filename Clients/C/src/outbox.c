/* SPDX-License-Identifier: Apache-2.0 */
#include "outbox.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "clock.h"

/* HIGH_MARK and PASSED_MAX are in bytes. */
#define HIGH_MARK ((size_t)4 << 20)
#define FRAMES_MAX 64
#define PASSED_MAX ((size_t)64 << 20)
#define RETRY_USEC 10000u

struct outgoing {
  struct outgoing *next;
  uint8_t *data;
  size_t length;
  int file;
  size_t file_length;
};

void outbox_begin(struct outbox *outbox)
{
  *outbox = (struct outbox){.last = &outbox->first};
}

static void drop_first(struct outbox *outbox)
{
  struct outgoing *frame = outbox->first;
  outbox->first = frame->next;
  if (outbox->first == NULL) {
    outbox->last = &outbox->first;
  }
  outbox->size -= frame->length + frame->file_length;
  outbox->offset = 0;
  if (frame->file >= 0) {
    close(frame->file);
  }
  free(frame->data);
  free(frame);
}

void outbox_end(struct outbox *outbox)
{
  while (outbox->first != NULL) {
    drop_first(outbox);
  }
  outbox->is_over = true;
  outbox->is_stuck = false;
  outbox->retry_usec = 0;
}

bool outbox_is_full(const struct outbox *outbox)
{
  return outbox->size >= HIGH_MARK;
}

int outbox_add(struct outbox *outbox, uint8_t *data, size_t length, int file, size_t file_length)
{
  struct outgoing *frame = outbox->is_over ? NULL : malloc(sizeof *frame);
  if (frame == NULL) {
    free(data);
    if (file >= 0) {
      close(file);
    }
    return outbox->is_over ? 0 : -ENOMEM;
  }
  *frame = (struct outgoing){.data = data, .length = length, .file = file, .file_length = file_length};
  *outbox->last = frame;
  outbox->last = &frame->next;
  outbox->size += length + file_length;
  return 0;
}

/* True if a file may be sent now. Once the bus has read everything, no earlier file is in flight. */
static bool may_pass(struct outbox *outbox, size_t length, int fd)
{
  int unread = 0;
  if (outbox->passed == 0 || outbox->passed + length <= PASSED_MAX) {
    return true;
  }
  if (ioctl(fd, SIOCOUTQ, &unread) < 0 || unread != 0) {
    return false;
  }
  outbox->passed = 0;
  return true;
}

/* Sends as many frames as one call can. A file can only go with the first frame. */
static ssize_t send_some(struct outbox *outbox, int fd)
{
  struct iovec parts[FRAMES_MAX];
  size_t count = 0;
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message = {.msg_iov = parts};
  struct outgoing *frame = outbox->first;
  parts[count++] = (struct iovec){frame->data + outbox->offset, frame->length - outbox->offset};
  if (frame->file >= 0) {
    memset(&control, 0, sizeof control);
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    control.header =
        (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), &frame->file, sizeof frame->file);
  } else {
    for (frame = frame->next; frame != NULL && frame->file < 0 && count < FRAMES_MAX; frame = frame->next) {
      parts[count++] = (struct iovec){frame->data, frame->length};
    }
  }
  message.msg_iovlen = count;
  return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void note_sent(struct outbox *outbox, size_t count)
{
  struct outgoing *frame = outbox->first;
  if (count > 0 && frame->file >= 0) {
    close(frame->file);
    frame->file = -1;
    outbox->passed += frame->file_length;
  }
  while (outbox->first != NULL && count >= outbox->first->length - outbox->offset) {
    count -= outbox->first->length - outbox->offset;
    drop_first(outbox);
  }
  outbox->offset += count;
}

int outbox_write(struct outbox *outbox, int fd)
{
  outbox->is_stuck = false;
  outbox->retry_usec = 0;
  while (outbox->first != NULL) {
    if (outbox->first->file >= 0 && !may_pass(outbox, outbox->first->file_length, fd)) {
      outbox->retry_usec = now_usec() + RETRY_USEC;
      return 0;
    }
    ssize_t count = send_some(outbox, fd);
    if (count >= 0) {
      note_sent(outbox, (size_t)count);
      continue;
    }
    switch (errno) {
    case EINTR:
      continue;
    case EAGAIN:
      outbox->is_stuck = true;
      return 0;
    case ETOOMANYREFS: /* This user has too many descriptors in flight. */
    case ENOBUFS:
    case ENOMEM:
      outbox->retry_usec = now_usec() + RETRY_USEC;
      return 0;
    case EPIPE:
    case ECONNRESET:
      /* The reason is in the bus's last frames, which are still unread. */
      outbox_end(outbox);
      return 0;
    default: {
      int result = -errno;
      outbox_end(outbox);
      return result;
    }
    }
  }
  return 0;
}
