/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <tribune.h>

int main(void)
{
  tribune *bus;
  tribune_error error;
  tribune_message *reply;
  if (tribune_open(&bus, NULL, 0, 5000000, &error) < 0) {
    return 1;
  }
  /* Observers that come later receive this notification too. */
  tribune_post_options options = {.flags = TRIBUNE_POST_RETAIN};
  if (tribune_post_acknowledged(bus, "weather.didChange", "city/rome", "{\"sky\": \"clear\"}", TRIBUNE_STRING, &options,
                                &error)
      < 0) {
    fprintf(stderr, "refused: %s\n", error.message);
  }
  /* This gives other programs time to write their data. */
  options = (tribune_post_options){.deadline_ms = 2000};
  int done = tribune_post_awaited(bus, "disk.willUnmount", "disk/usb", NULL, 0, &options, &reply, &error);
  if (done >= 0) {
    const tribune_missing *missing;
    for (size_t i = 0; (missing = tribune_message_get_missing(reply, i)) != NULL; i++) {
      printf("%s (%u) is not ready: %s\n", missing->peer->process, missing->peer->pid, missing->reason);
    }
    printf("%u observers are ready\n", tribune_message_get_acknowledged(reply));
    tribune_message_unref(reply);
  }
  tribune_unref(bus);
  return done == 1 ? 0 : 1;
}
