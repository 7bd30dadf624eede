/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes in C of compare.py:
 *
 *   ask delegate ADDRESS            approves each question
 *   ask ask ADDRESS COUNT ANSWERS   asks so many, one after the other, that each so many answer
 *   ask reply URL                   answers each request of NATS
 *   ask request URL COUNT ANSWERS   makes so many, one after the other
 *
 * Each says when it is ready. Those that ask print how many nanoseconds each took, behind some that do not count.
 */
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tribune.h>
#include <unistd.h>

#define NAME "cluster.shouldReboot"
#define PAYLOAD "0123456789abcdef"

static _Noreturn void give_up(const char *what)
{
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void be_ready(void)
{
  puts("ready");
  fflush(stdout);
}

static long long now(void)
{
  struct timespec moment;
  clock_gettime(CLOCK_MONOTONIC, &moment);
  return moment.tv_sec * 1000000000LL + moment.tv_nsec;
}

/* Makes the call so often, and prints how long each takes. */
static void measure(int count, void (*call)(void *connection, size_t answers), void *connection, size_t answers)
{
  be_ready();
  for (int i = -count / 10; i < count; i++) {
    long long began = now();
    call(connection, answers);
    if (i >= 0) {
      printf("%lld\n", now() - began);
    }
  }
}

/* ---- Tribune ---- */

static tribune *connect_to_bus(const char *address)
{
  tribune *bus;
  tribune_error error;
  if (tribune_open(&bus, address, 0, 5000000, &error) < 0) {
    give_up(error.message);
  }
  return bus;
}

static void approve(tribune_slot *slot, tribune_message *message, void *userdata)
{
  (void)slot;
  (void)userdata;
  switch (tribune_message_get_type(message)) {
  case TRIBUNE_READY:
    be_ready();
    break;
  case TRIBUNE_QUESTION:
    tribune_approve(message);
    break;
  case TRIBUNE_ENDED:
    give_up("the delegate has ended");
  default:
    break;
  }
}

static void be_delegate(const char *address)
{
  static const char *const patterns[] = {NAME, NULL};
  tribune *bus = connect_to_bus(address);
  tribune_delegate(bus, NULL, patterns, NULL, NULL, approve, NULL);
  tribune_error error;
  while (tribune_process(bus, &error) >= 0) {
    tribune_wait(bus, UINT64_MAX);
  }
  give_up(error.message);
}

static void ask(void *connection, size_t answers)
{
  tribune_message *verdict;
  tribune_error error;
  int allowed = tribune_ask(connection, NAME, NULL, NULL, 0, NULL, &verdict, &error);
  if (allowed < 0) {
    give_up(error.message);
  }
  if (allowed == 0 || tribune_message_get_outcome(verdict, answers - 1) == NULL) {
    give_up("not everybody has approved");
  }
  tribune_message_unref(verdict);
}

/* ---- NATS ---- */

static natsConnection *connect_to_nats(const char *url)
{
  natsConnection *connection;
  natsOptions *options;
  /* As the gateways do, for libnats waits a millisecond otherwise. */
  if (natsOptions_Create(&options) != NATS_OK || natsOptions_SetURL(options, url) != NATS_OK
      || natsOptions_SetSendAsap(options, true) != NATS_OK || natsConnection_Connect(&connection, options) != NATS_OK) {
    give_up("cannot connect to NATS");
  }
  natsOptions_Destroy(options);
  return connection;
}

static void reply(natsConnection *connection, natsSubscription *subscription, natsMsg *message, void *closure)
{
  (void)subscription;
  (void)closure;
  natsConnection_Publish(connection, natsMsg_GetReply(message), PAYLOAD, sizeof PAYLOAD - 1);
  natsMsg_Destroy(message);
}

static void be_replier(const char *url)
{
  natsConnection *connection = connect_to_nats(url);
  natsSubscription *subscription;
  if (natsConnection_Subscribe(&subscription, connection, NAME, reply, NULL) != NATS_OK
      || natsConnection_Flush(connection) != NATS_OK) {
    give_up("cannot subscribe");
  }
  be_ready();
  for (;;) {
    pause();
  }
}

static void request(void *connection, size_t answers)
{
  (void)answers;
  natsMsg *answer;
  if (natsConnection_Request(&answer, connection, NAME, PAYLOAD, sizeof PAYLOAD - 1, 5000) != NATS_OK) {
    give_up("no answer of NATS");
  }
  natsMsg_Destroy(answer);
}

int main(int argc, char **argv)
{
  if (argc == 3 && strcmp(argv[1], "delegate") == 0) {
    be_delegate(argv[2]);
  } else if (argc == 3 && strcmp(argv[1], "reply") == 0) {
    be_replier(argv[2]);
  } else if (argc == 5 && strcmp(argv[1], "ask") == 0) {
    measure(atoi(argv[3]), ask, connect_to_bus(argv[2]), (size_t)atoi(argv[4]));
  } else if (argc == 5 && strcmp(argv[1], "request") == 0) {
    measure(atoi(argv[3]), request, connect_to_nats(argv[2]), (size_t)atoi(argv[4]));
  } else {
    return 2;
  }
  return 0;
}
