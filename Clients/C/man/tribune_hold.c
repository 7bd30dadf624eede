/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <tribune.h>

static void handle(tribune_slot *slot, tribune_message *message, void *userdata)
{
  (void)slot;
  switch (tribune_message_get_type(message)) {
  case TRIBUNE_READY:
    printf("holding\n");
    break;
  case TRIBUNE_ENDED:
    printf("%s\n", tribune_message_get_error(message)->message);
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
  tribune_hold_options options = {.label = "restore", .lifetime_ms = 500};
  tribune_hold(bus, NULL, "host.shouldReboot", NULL, "a restore is running", &options, handle, &done);
  while (!done && tribune_process(bus, &error) >= 0) {
    if (!done) {
      tribune_wait(bus, UINT64_MAX);
    }
  }
  tribune_unref(bus);
  return 0;
}
