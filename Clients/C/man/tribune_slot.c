/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <tribune.h>

int main(void)
{
  tribune *bus;
  tribune_slot *hold;
  tribune_error error;
  if (tribune_open(&bus, NULL, 0, 5000000, &error) < 0) {
    return 1;
  }
  tribune_hold(bus, &hold, "host.shouldReboot", NULL, "a restore is running", NULL, NULL, NULL);
  if (tribune_slot_wait(hold, 5000000, &error) < 0) {
    fprintf(stderr, "refused: %s\n", error.message);
    return 1;
  }
  printf("%d\n", tribune_slot_is_in_force(hold));
  printf("%d\n", tribune_ask(bus, "host.shouldReboot", NULL, NULL, 0, NULL, NULL, &error));
  /* The bus releases the hold before it handles the next request. */
  hold = tribune_slot_unref(hold);
  printf("%d\n", tribune_ask(bus, "host.shouldReboot", NULL, NULL, 0, NULL, NULL, &error));
  tribune_unref(bus);
  return 0;
}
