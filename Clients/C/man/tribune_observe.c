/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <tribune.h>

static void handle(tribune_slot *slot, tribune_message *message, void *userdata)
{
  (void)slot;
  switch (tribune_message_get_type(message)) {
  case TRIBUNE_READY:
    printf("observing\n");
    break;
  case TRIBUNE_NOTIFICATION:
    printf("flushing %s\n", tribune_message_get_object(message));
    if (tribune_message_is_awaited(message)) {
      tribune_done(message);
    }
    break;
  case TRIBUNE_LOST:
    printf("missed %" PRIu64 "\n", tribune_message_get_lost(message));
    break;
  case TRIBUNE_AWAITED:
    printf("%u done\n", tribune_message_get_acknowledged(message));
    *(bool *)userdata = true;
    break;
  default:
    break;
  }
}

int main(void)
{
  tribune *bus;
  tribune_error error;
  bool done = false;
  if (tribune_open(&bus, NULL, 0, 5000000, &error) < 0) {
    return 1;
  }
  tribune_observe(bus, NULL, "disk.willUnmount", NULL, TRIBUNE_OBSERVE_AWAITED, handle, NULL);
  tribune_post_awaited_async(bus, NULL, "disk.willUnmount", "disk/usb", NULL, 0, NULL, handle, &done);
  while (!done && tribune_process(bus, &error) >= 0) {
    if (!done) {
      tribune_wait(bus, UINT64_MAX);
    }
  }
  tribune_unref(bus);
  return 0;
}
