/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bus.h"
#include "notifications.h"

tribune_message *message_new(tribune_type type, struct frame *frame)
{
  tribune_message *message = calloc(1, sizeof *message);
  if (message != NULL) {
    message->refs = 1;
    message->type = type;
    message->frame = frame == NULL ? NULL : frame_ref(frame);
  }
  return message;
}

tribune_message *message_of_error(const tribune_error *error)
{
  tribune_message *message = message_new(TRIBUNE_ENDED, NULL);
  if (message != NULL) {
    message->error = malloc(sizeof *message->error);
    if (message->error == NULL) {
      return tribune_message_unref(message);
    }
    *message->error = *error;
  }
  return message;
}

static void drop_content(tribune_message *message)
{
  frame_unref(message->frame);
  message->frame = NULL;
  poster_unref(message->poster);
  message->poster = NULL;
  free(message->outcomes);
  free(message->missing);
  free(message->error);
  message->outcomes = NULL;
  message->missing = NULL;
  message->error = NULL;
}

void message_list(tribune_message *message, tribune *bus)
{
  message->bus = bus;
  message->next = bus->messages;
  if (message->next != NULL) {
    message->next->previous = message;
  }
  bus->messages = message;
}

void message_unlist(tribune_message *message)
{
  if (message->bus == NULL) {
    return;
  }
  if (message->acknowledgement != NULL) {
    acknowledgement_settle(NULL, message->acknowledgement, NULL);
    message->acknowledgement = NULL;
  }
  *(message->previous == NULL ? &message->bus->messages : &message->previous->next) = message->next;
  if (message->next != NULL) {
    message->next->previous = message->previous;
  }
  message->bus = NULL;
  message->slot = NULL;
  message->is_open = false;
  if (message->refs == 0) {
    free(message);
  }
}

tribune_message *tribune_message_ref(tribune_message *message)
{
  if (message != NULL) {
    message->refs++;
  }
  return message;
}

tribune_message *tribune_message_unref(tribune_message *message)
{
  if (message == NULL || --message->refs > 0) {
    return NULL;
  }
  /* tribune_fail() may call message_unlist(), which must not free the message. */
  message->refs = 1;
  if (message->is_open) {
    tribune_fail(message, message->is_awaited ? "the observer released the notification without an acknowledgement"
                                              : "the delegate released the question without an answer");
  }
  drop_content(message);
  message->refs = 0;
  if (message->bus == NULL) {
    free(message);
  }
  return NULL;
}

/* ---- Reading ---- */

static const char *terminated(struct frame *frame, struct wire_text text)
{
  uint8_t *start = frame->data + (text.data - frame->data) - 1;
  memmove(start, text.data, text.length);
  start[text.length] = '\0';
  return (const char *)start;
}

/* `units` is `SYSTEM` or `SYSTEM/USER`. The slash becomes a terminator. */
static void split_units(char *units, tribune_peer *peer)
{
  size_t length = strcspn(units, "/");
  peer->system_unit = units;
  peer->user_unit = units + length + (units[length] == '/');
  units[length] = '\0';
}

static void read_peer(struct frame *frame, const struct wire_peer_identity *identity, tribune_peer *peer)
{
  peer->pid = identity->pid;
  peer->uid = identity->uid;
  peer->gid = identity->gid;
  peer->process = terminated(frame, identity->process);
  const char *units = terminated(frame, identity->units);
  split_units((char *)frame->data + (units - (const char *)frame->data), peer);
}

int poster_new(struct frame *frame, struct poster **ret, uint32_t *ret_slot)
{
  struct wire_reader reader = frame_fields(frame);
  struct wire_poster_facts facts;
  wire_read_poster_facts(&reader, &facts);
  if (reader.failed) {
    return -EBADMSG;
  }
  size_t process = facts.peer.process.length;
  size_t units = facts.peer.units.length;
  struct poster *poster = calloc(1, sizeof *poster + process + units + 2);
  if (poster == NULL) {
    return -ENOMEM;
  }
  memcpy(poster->texts, facts.peer.process.data, process);
  memcpy(poster->texts + process + 1, facts.peer.units.data, units);
  poster->refs = 1;
  poster->connection = facts.connection;
  poster->peer = (tribune_peer){facts.peer.pid, facts.peer.uid, facts.peer.gid, poster->texts, NULL, NULL};
  split_units(poster->texts + process + 1, &poster->peer);
  *ret = poster;
  *ret_slot = facts.slot;
  return 0;
}

void poster_unref(struct poster *poster)
{
  if (poster != NULL && --poster->refs == 0) {
    free(poster);
  }
}

static int begin(tribune_type type, struct frame *frame, const struct wire_reader *reader, tribune_message **ret)
{
  if (reader->failed) {
    return -EBADMSG;
  }
  *ret = message_new(type, frame);
  return *ret == NULL ? -ENOMEM : 0;
}

int message_of_question(struct frame *frame, tribune_message **ret)
{
  struct wire_reader reader = frame_fields(frame);
  struct wire_question question;
  wire_read_question(&reader, &question);
  int result = begin(TRIBUNE_QUESTION, frame, &reader, ret);
  if (result < 0) {
    return result;
  }
  (*ret)->query = question.query;
  (*ret)->delegate = question.delegate;
  (*ret)->timeout_ms = question.timeout;
  (*ret)->is_dry_run = question.is_dry_run;
  (*ret)->wants_value = question.wants_value;
  (*ret)->has_peer = true;
  read_peer(frame, &question.asker, &(*ret)->peer);
  return 0;
}

static void read_delegate(struct frame *frame, const struct wire_delegate_identity *from, struct outcome *to)
{
  to->fields.delegate = from->id;
  to->fields.label = terminated(frame, from->label);
  read_peer(frame, &from->peer, &to->peer);
  to->fields.peer = &to->peer;
}

static void read_outcome(struct frame *frame, const struct wire_outcome *from, tribune_outcome *to)
{
  to->kind = (tribune_outcome_kind)from->outcome;
  to->reason = terminated(frame, from->reason);
  to->elapsed_usec = from->elapsed;
  if (to->kind == TRIBUNE_OUTCOME_ANSWERED) {
    to->value = from->value.data;
    to->value_size = from->value.length;
  }
}

int message_of_verdict(struct frame *frame, tribune_message **ret)
{
  struct wire_reader reader = frame_fields(frame);
  struct wire_verdict verdict;
  wire_read_verdict(&reader, &verdict);
  int result = begin(TRIBUNE_VERDICT, frame, &reader, ret);
  if (result < 0) {
    return result;
  }
  (*ret)->query = verdict.query;
  (*ret)->is_allowed = verdict.verdict == WIRE_VERDICT_KIND_ALLOWED;
  (*ret)->is_unanswered = verdict.is_unanswered;
  (*ret)->is_overridden = verdict.is_overridden;
  (*ret)->is_dry_run = verdict.is_dry_run;
  (*ret)->count = verdict.omitted_count;
  if (verdict.similar_name.length > 0) {
    (*ret)->similar_name = terminated(frame, verdict.similar_name);
  }
  (*ret)->outcomes = calloc(verdict.outcomes.count, sizeof *(*ret)->outcomes);
  if ((*ret)->outcomes == NULL && verdict.outcomes.count > 0) {
    *ret = tribune_message_unref(*ret);
    return -ENOMEM;
  }
  struct wire_outcome outcome;
  while (wire_next_outcome(&verdict.outcomes, &outcome)) {
    struct outcome *to = &(*ret)->outcomes[(*ret)->outcome_count++];
    read_delegate(frame, &outcome.delegate, to);
    read_outcome(frame, &outcome, &to->fields);
  }
  return 0;
}

int message_of_progress(struct frame *frame, tribune_message **ret)
{
  struct wire_reader reader = frame_fields(frame);
  struct wire_progress progress;
  wire_read_progress(&reader, &progress);
  int result = begin(TRIBUNE_PROGRESS, frame, &reader, ret);
  if (result < 0) {
    return result;
  }
  struct outcome *outcome = calloc(1, sizeof *outcome);
  if (outcome == NULL) {
    *ret = tribune_message_unref(*ret);
    return -ENOMEM;
  }
  (*ret)->outcomes = outcome;
  (*ret)->outcome_count = 1;
  (*ret)->query = progress.query;
  (*ret)->timeout_ms = progress.timeout;
  (*ret)->stage = (tribune_stage)progress.stage;
  outcome->fields.kind = (tribune_outcome_kind)progress.outcome;
  outcome->fields.reason = frame_payload(frame);
  read_delegate(frame, &progress.delegate, outcome);
  (*ret)->peer = outcome->peer;
  (*ret)->has_peer = true;
  return 0;
}

int message_of_awaited(struct frame *frame, tribune_message **ret)
{
  struct wire_reader reader = frame_fields(frame);
  struct wire_awaited awaited;
  wire_read_awaited(&reader, &awaited);
  int result = begin(TRIBUNE_AWAITED, frame, &reader, ret);
  if (result < 0) {
    return result;
  }
  (*ret)->count = awaited.acknowledged;
  (*ret)->missing = calloc(awaited.missing.count, sizeof *(*ret)->missing);
  if ((*ret)->missing == NULL && awaited.missing.count > 0) {
    *ret = tribune_message_unref(*ret);
    return -ENOMEM;
  }
  struct wire_missing_observer from;
  while (wire_next_missing_observer(&awaited.missing, &from)) {
    struct missing *to = &(*ret)->missing[(*ret)->missing_count++];
    to->fields.failure = (tribune_failure)from.failure;
    to->fields.connection = from.connection;
    to->fields.elapsed_usec = from.elapsed;
    read_peer(frame, &from.peer, &to->peer);
    to->fields.peer = &to->peer;
    to->fields.reason = terminated(frame, from.reason);
  }
  return 0;
}

int message_of_concluded(struct frame *frame, tribune_message **ret)
{
  struct wire_reader reader = frame_fields(frame);
  struct wire_concluded concluded;
  wire_read_concluded(&reader, &concluded);
  int result = begin(TRIBUNE_CONCLUDED, frame, &reader, ret);
  if (result == 0) {
    (*ret)->query = concluded.query;
    (*ret)->delegate = concluded.delegate;
    (*ret)->conclusion = (tribune_conclusion)concluded.conclusion;
  }
  return result;
}
