/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <tribune.h>

static void answer(tribune_slot *slot, tribune_message *message, void *userdata)
{
  (void)slot;
  (void)userdata;
  switch (tribune_message_get_type(message)) {
  case TRIBUNE_QUESTION:
    tribune_veto(message, "the backup is at 40 %");
    break;
  case TRIBUNE_CONCLUDED:
    if (tribune_message_get_conclusion(message) == TRIBUNE_CONCLUSION_ALLOWED) {
      printf("what was asked about happens\n");
    }
    break;
  case TRIBUNE_ENDED:
    /* This delegate no longer vetoes. */
    fprintf(stderr, "%s\n", tribune_message_get_error(message)->message);
    break;
  default:
    break;
  }
}

static void conclude(tribune_slot *slot, tribune_message *message, void *userdata)
{
  (void)slot;
  if (tribune_message_get_type(message) == TRIBUNE_VERDICT) {
    const tribune_outcome *outcome = tribune_message_get_outcome(message, 0);
    printf("%s: %s\n", outcome->label, outcome->reason);
    *(bool *)userdata = true;
  }
}

int main(void)
{
  static const char *const patterns[] = {"host.shouldReboot", "host.shouldPowerOff", NULL};
  tribune *bus;
  tribune_error error;
  bool done = false;
  if (tribune_open(&bus, NULL, 0, 5000000, &error) < 0) {
    return 1;
  }
  tribune_delegate_options options = {.label = "backup", .timeout_ms = 2000};
  tribune_delegate(bus, NULL, patterns, NULL, &options, answer, NULL);
  tribune_ask_async(bus, NULL, "host.shouldReboot", NULL, NULL, 0, NULL, conclude, &done);
  while (!done && tribune_process(bus, &error) >= 0) {
    if (!done) {
      tribune_wait(bus, UINT64_MAX);
    }
  }
  tribune_unref(bus);
  return 0;
}
