/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <tribune.h>

int main(void)
{
  tribune *bus;
  tribune_error error;
  if (tribune_open(&bus, NULL, 0, 5000000, &error) < 0) {
    fprintf(stderr, "no bus: %s\n", error.message);
    return 1;
  }
  /* Only a positive result allows the action. */
  int allowed = tribune_ask(bus, "backup.shouldPrune", "volume/home", NULL, 0, NULL, NULL, &error);
  if (allowed > 0) {
    printf("pruning\n");
    tribune_post(bus, "backup.didPrune", "volume/home", "{\"files\": 3}", TRIBUNE_STRING, NULL);
    tribune_flush(bus, 5000000, &error);
  } else if (allowed == 0) {
    printf("somebody objects\n");
  } else {
    fprintf(stderr, "nobody knows: %s\n", error.message);
  }
  tribune_unref(bus);
  return allowed > 0 ? 0 : 1;
}
