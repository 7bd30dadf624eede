/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <tribune.h>

int main(void)
{
  tribune *bus;
  tribune_error error;
  tribune_message *verdict;
  if (tribune_open(&bus, NULL, 0, 5000000, &error) < 0) {
    return 1;
  }
  tribune_hold(bus, NULL, "host.shouldReboot", NULL, "a restore is running",
               &(tribune_hold_options){.label = "restore"}, NULL, NULL);
  tribune_ask_options options = {.mode = TRIBUNE_MODE_ALL, .deadline_ms = 10000};
  int allowed = tribune_ask(bus, "host.shouldReboot", NULL, NULL, 0, &options, &verdict, &error);
  if (allowed < 0) {
    fprintf(stderr, "%s\n", error.message);
  } else {
    const tribune_outcome *outcome;
    for (size_t i = 0; (outcome = tribune_message_get_outcome(verdict, i)) != NULL; i++) {
      printf("%s: %s\n", outcome->label, outcome->reason);
    }
    tribune_message_unref(verdict);
  }
  tribune_unref(bus);
  return 0;
}
