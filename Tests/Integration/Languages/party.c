/* SPDX-License-Identifier: Apache-2.0 */
/* PartiesTests describes it. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tribune.h>
#include <unistd.h>

static char **others;
static unsigned other_count;
static unsigned number;
static int left;

static void ask(tribune *bus);

static void fail(const char *what)
{
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void decide(tribune_slot *slot, tribune_message *message, void *userdata)
{
  (void)slot;
  (void)userdata;
  switch (tribune_message_get_type(message)) {
  case TRIBUNE_READY:
    printf("ready\n");
    return;
  case TRIBUNE_QUESTION:
    break;
  case TRIBUNE_ENDED:
    fail(tribune_message_get_error(message)->message);
    return;
  default:
    return;
  }
  size_t size;
  const char *bytes = tribune_message_get_user_info(message, &size);
  char text[128] = "";
  char asker[16];
  unsigned asked;
  memcpy(text, bytes, size < sizeof text ? size : sizeof text - 1);
  if (sscanf(text, " { \"asker\" : \"%15[^\"]\" , \"number\" : %u }", asker, &asked) != 2) {
    fail(text);
  }
  printf("answer %s %u\n", asker, asked);
  if (asked % 2 == 0) {
    tribune_approve(message);
  } else {
    char reason[32];
    snprintf(reason, sizeof reason, "c vetoes %u", asked);
    tribune_veto(message, reason);
  }
}

static void conclude(tribune_slot *slot, tribune_message *message, void *userdata)
{
  (void)slot;
  if (tribune_message_get_type(message) == TRIBUNE_ENDED) {
    fail(tribune_message_get_error(message)->message);
  }
  if (tribune_message_get_type(message) != TRIBUNE_VERDICT) {
    return;
  }
  printf("verdict %s %u", others[number % other_count], number);
  const tribune_outcome *outcome;
  for (size_t index = 0; (outcome = tribune_message_get_outcome(message, index)); index++) {
    printf("%s%s", *outcome->reason ? " " : "", outcome->reason);
  }
  printf("\n");
  number++;
  left--;
  if (left > 0) {
    ask(userdata);
  } else {
    printf("asked\n");
  }
}

static void ask(tribune *bus)
{
  char name[64];
  char user_info[64];
  snprintf(name, sizeof name, "%s.shouldAct", others[number % other_count]);
  snprintf(user_info, sizeof user_info, "{\"asker\":\"c\",\"number\":%u}", number);
  if (tribune_ask_async(bus, NULL, name, NULL, user_info, TRIBUNE_STRING, NULL, conclude, bus) < 0) {
    fail("the library does not ask");
  }
}

int main(int argc, char **argv)
{
  static const char *const patterns[] = {"c.shouldAct", NULL};
  const tribune_delegate_options options = {.label = "c"};
  tribune *bus;
  tribune_error error;
  others = argv + 1;
  other_count = (unsigned)argc - 1;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (tribune_open(&bus, NULL, 0, UINT64_MAX, &error) < 0) {
    fail(error.message);
  }
  if (tribune_delegate(bus, NULL, patterns, NULL, &options, decide, NULL) < 0) {
    fail("the library takes no delegate");
  }
  for (;;) {
    if (tribune_process(bus, &error) < 0) {
      fail(error.message);
    }
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = tribune_get_fd(bus), .events = (short)tribune_get_events(bus)}};
    poll(fds, 2, -1);
    if (fds[0].revents) {
      char line[16] = "";
      if (read(STDIN_FILENO, line, sizeof line - 1) <= 0) {
        return 0;
      }
      left = atoi(line);
      ask(bus);
    }
  }
}
