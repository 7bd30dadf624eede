/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <tribune.h>

static void handle(tribune_slot *slot, tribune_message *message, void *userdata)
{
  size_t size;
  const char *user_info;
  (void)slot;
  switch (tribune_message_get_type(message)) {
  case TRIBUNE_NOTIFICATION:
    user_info = tribune_message_get_user_info(message, &size);
    printf("%s about %s: %.*s\n", tribune_message_get_name(message), tribune_message_get_object(message), (int)size,
           user_info);
    *(bool *)userdata = true;
    break;
  case TRIBUNE_LOST:
    printf("missed %" PRIu64 "\n", tribune_message_get_lost(message));
    break;
  case TRIBUNE_ENDED:
    printf("over: %s\n", tribune_message_get_error(message)->message);
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
  tribune_observe(bus, NULL, "window.*", NULL, 0, handle, &done);
  tribune_post(bus, "window.didOpen", "window/7", "{\"width\": 640}", TRIBUNE_STRING, NULL);
  while (!done && tribune_process(bus, &error) >= 0) {
    if (!done) {
      tribune_wait(bus, UINT64_MAX);
    }
  }
  tribune_unref(bus);
  return 0;
}
