/* SPDX-License-Identifier: Apache-2.0
 *
 * Made by "make wire" from docs/tribune.wire. Change that instead.
 *
 * Reads and writes the fields of frames. Every length is checked in fields.h before it is used. */

#include "wire.h"

void wire_read_peer_identity(struct wire_reader *reader, struct wire_peer_identity *value)
{
  *value = (struct wire_peer_identity){0};
  value->pid = wire_read_u32(reader);
  value->uid = wire_read_u32(reader);
  value->gid = wire_read_u32(reader);
  value->process = wire_read_text(reader);
  value->units = wire_read_text(reader);
}

void wire_write_peer_identity(struct wire_writer *writer, const struct wire_peer_identity *value)
{
  wire_write_u32(writer, value->pid);
  wire_write_u32(writer, value->uid);
  wire_write_u32(writer, value->gid);
  wire_write_text(writer, value->process);
  wire_write_text(writer, value->units);
}

void wire_read_delegate_identity(struct wire_reader *reader, struct wire_delegate_identity *value)
{
  *value = (struct wire_delegate_identity){0};
  value->id = wire_read_u64(reader);
  value->label = wire_read_text(reader);
  wire_read_peer_identity(reader, &value->peer);
}

void wire_write_delegate_identity(struct wire_writer *writer, const struct wire_delegate_identity *value)
{
  wire_write_u64(writer, value->id);
  wire_write_text(writer, value->label);
  wire_write_peer_identity(writer, &value->peer);
}

void wire_read_welcome(struct wire_reader *reader, struct wire_welcome *value)
{
  *value = (struct wire_welcome){0};
  value->connection = wire_read_u64(reader);
  value->payload_max = wire_read_u32(reader);
  value->observations_max = wire_read_u32(reader);
  value->delegates_max = wire_read_u32(reader);
  value->queries_max = wire_read_u32(reader);
  value->deadline_max = wire_read_u32(reader);
  value->deadline_default = wire_read_u32(reader);
  value->bus_pid = wire_read_u32(reader);
  value->software = wire_read_text(reader);
}

void wire_write_welcome(struct wire_writer *writer, const struct wire_welcome *value)
{
  wire_write_u64(writer, value->connection);
  wire_write_u32(writer, value->payload_max);
  wire_write_u32(writer, value->observations_max);
  wire_write_u32(writer, value->delegates_max);
  wire_write_u32(writer, value->queries_max);
  wire_write_u32(writer, value->deadline_max);
  wire_write_u32(writer, value->deadline_default);
  wire_write_u32(writer, value->bus_pid);
  wire_write_text(writer, value->software);
}

void wire_read_refusal(struct wire_reader *reader, struct wire_refusal *value)
{
  *value = (struct wire_refusal){0};
  value->code = wire_read_u16(reader);
}

void wire_write_refusal(struct wire_writer *writer, const struct wire_refusal *value)
{
  wire_write_u16(writer, value->code);
}

void wire_read_okay(struct wire_reader *reader, struct wire_okay *value)
{
  *value = (struct wire_okay){0};
  value->registration = wire_read_u64(reader);
  value->delegate = wire_read_u64(reader);
  value->retained = wire_read_u32(reader);
  value->late = wire_read_u32(reader);
  value->expiry = wire_read_u64(reader);
}

void wire_write_okay(struct wire_writer *writer, const struct wire_okay *value)
{
  wire_write_u64(writer, value->registration);
  wire_write_u64(writer, value->delegate);
  wire_write_u32(writer, value->retained);
  wire_write_u32(writer, value->late);
  wire_write_u64(writer, value->expiry);
}

void wire_read_cancel(struct wire_reader *reader, struct wire_cancel *value)
{
  *value = (struct wire_cancel){0};
  value->target = wire_read_u64(reader);
}

void wire_write_cancel(struct wire_writer *writer, const struct wire_cancel *value)
{
  wire_write_u64(writer, value->target);
}

void wire_read_succeed(struct wire_reader *reader, struct wire_succeed *value)
{
  *value = (struct wire_succeed){0};
  value->predecessor = wire_read_u64(reader);
  value->received = wire_read_u64(reader);
}

void wire_write_succeed(struct wire_writer *writer, const struct wire_succeed *value)
{
  wire_write_u64(writer, value->predecessor);
  wire_write_u64(writer, value->received);
}

void wire_read_post(struct wire_reader *reader, struct wire_post *value)
{
  *value = (struct wire_post){0};
  if (wire_left(reader) == 0) {
    return;
  }
  value->options = wire_read_u8(reader);
  if ((value->options & ~63) != 0) {
    reader->failed = true;
  }
  value->style = (enum wire_posting_style)wire_read_enumeration(reader, WIRE_POSTING_STYLE_WHEN_IDLE);
  value->deadline = wire_read_u32(reader);
  value->length = wire_read_u32(reader);
}

void wire_write_post(struct wire_writer *writer, const struct wire_post *value)
{
  if (value->options == 0 && value->style == 0 && value->deadline == 0 && value->length == 0) {
    return;
  }
  wire_write_u8(writer, value->options);
  wire_write_u8(writer, (uint8_t)value->style);
  wire_write_u32(writer, value->deadline);
  wire_write_u32(writer, value->length);
}

void wire_read_lost(struct wire_reader *reader, struct wire_lost *value)
{
  *value = (struct wire_lost){0};
  value->count = wire_read_u64(reader);
}

void wire_write_lost(struct wire_writer *writer, const struct wire_lost *value)
{
  wire_write_u64(writer, value->count);
}

void wire_read_observe(struct wire_reader *reader, struct wire_observe *value)
{
  *value = (struct wire_observe){0};
  if (wire_left(reader) == 0) {
    return;
  }
  value->options = wire_read_u8(reader);
  if ((value->options & ~3) != 0) {
    reader->failed = true;
  }
  value->suspension = (enum wire_suspension_behavior)wire_read_enumeration(reader, WIRE_SUSPENSION_BEHAVIOR_DELIVER_IMMEDIATELY);
}

void wire_write_observe(struct wire_writer *writer, const struct wire_observe *value)
{
  if (value->options == 0 && value->suspension == 0) {
    return;
  }
  wire_write_u8(writer, value->options);
  wire_write_u8(writer, (uint8_t)value->suspension);
}

void wire_read_room(struct wire_reader *reader, struct wire_room *value)
{
  *value = (struct wire_room){0};
  value->limit = wire_read_u64(reader);
}

void wire_write_room(struct wire_writer *writer, const struct wire_room *value)
{
  wire_write_u64(writer, value->limit);
}

void wire_read_pace(struct wire_reader *reader, struct wire_pace *value)
{
  *value = (struct wire_pace){0};
  value->limit = wire_read_u16(reader);
}

void wire_write_pace(struct wire_writer *writer, const struct wire_pace *value)
{
  wire_write_u16(writer, value->limit);
}

void wire_read_suspend(struct wire_reader *reader, struct wire_suspend *value)
{
  *value = (struct wire_suspend){0};
  value->is_suspended = wire_read_u8(reader) != 0;
}

void wire_write_suspend(struct wire_writer *writer, const struct wire_suspend *value)
{
  wire_write_u8(writer, value->is_suspended);
}

void wire_read_retained(struct wire_reader *reader, struct wire_retained *value)
{
  *value = (struct wire_retained){0};
  value->age = wire_read_u64(reader);
  value->length = wire_read_u32(reader);
}

void wire_write_retained(struct wire_writer *writer, const struct wire_retained *value)
{
  wire_write_u64(writer, value->age);
  wire_write_u32(writer, value->length);
}

void wire_read_done(struct wire_reader *reader, struct wire_done *value)
{
  *value = (struct wire_done){0};
  value->poster = wire_read_u64(reader);
  value->post = wire_read_u64(reader);
  value->has_failed = wire_read_u8(reader) != 0;
}

void wire_write_done(struct wire_writer *writer, const struct wire_done *value)
{
  wire_write_u64(writer, value->poster);
  wire_write_u64(writer, value->post);
  wire_write_u8(writer, value->has_failed);
}

void wire_read_missing_observer(struct wire_reader *reader, struct wire_missing_observer *value)
{
  *value = (struct wire_missing_observer){0};
  value->connection = wire_read_u64(reader);
  wire_read_peer_identity(reader, &value->peer);
  value->failure = (enum wire_observer_failure)wire_read_enumeration(reader, WIRE_OBSERVER_FAILURE_FAILED);
  value->reason = wire_read_text(reader);
  value->elapsed = wire_read_u64(reader);
}

void wire_write_missing_observer(struct wire_writer *writer, const struct wire_missing_observer *value)
{
  wire_write_u64(writer, value->connection);
  wire_write_peer_identity(writer, &value->peer);
  wire_write_u8(writer, (uint8_t)value->failure);
  wire_write_text(writer, value->reason);
  wire_write_u64(writer, value->elapsed);
}

bool wire_next_missing_observer(struct wire_elements *list, struct wire_missing_observer *value)
{
  struct wire_reader record;
  if (!wire_next_record(list, &record)) {
    return false;
  }
  wire_read_missing_observer(&record, value);
  return !record.failed;
}

void wire_read_awaited(struct wire_reader *reader, struct wire_awaited *value)
{
  *value = (struct wire_awaited){0};
  value->acknowledged = wire_read_u32(reader);
  value->missing = wire_read_records(reader);
  struct wire_elements rest = value->missing;
  struct wire_missing_observer record;
  while (rest.count > 0) {
    if (!wire_next_missing_observer(&rest, &record)) {
      reader->failed = true;
      return;
    }
  }
}

void wire_write_awaited(struct wire_writer *writer, const struct wire_awaited *value)
{
  wire_write_u32(writer, value->acknowledged);
  wire_write_elements(writer, value->missing);
}

void wire_read_poster_facts(struct wire_reader *reader, struct wire_poster_facts *value)
{
  *value = (struct wire_poster_facts){0};
  value->connection = wire_read_u64(reader);
  value->slot = wire_read_u32(reader);
  wire_read_peer_identity(reader, &value->peer);
}

void wire_write_poster_facts(struct wire_writer *writer, const struct wire_poster_facts *value)
{
  wire_write_u64(writer, value->connection);
  wire_write_u32(writer, value->slot);
  wire_write_peer_identity(writer, &value->peer);
}

void wire_read_monitor(struct wire_reader *reader, struct wire_monitor *value)
{
  (void)reader;
  (void)value;
}

void wire_write_monitor(struct wire_writer *writer, const struct wire_monitor *value)
{
  (void)writer;
  (void)value;
}

void wire_read_traffic(struct wire_reader *reader, struct wire_traffic *value)
{
  *value = (struct wire_traffic){0};
  value->time = wire_read_u64(reader);
  value->from = wire_read_u64(reader);
  value->to = wire_read_u64(reader);
  value->receivers = wire_read_u32(reader);
}

void wire_write_traffic(struct wire_writer *writer, const struct wire_traffic *value)
{
  wire_write_u64(writer, value->time);
  wire_write_u64(writer, value->from);
  wire_write_u64(writer, value->to);
  wire_write_u32(writer, value->receivers);
}

void wire_read_attach(struct wire_reader *reader, struct wire_attach *value)
{
  *value = (struct wire_attach){0};
  value->order = wire_read_i32(reader);
  value->failure_policy = (enum wire_failure_policy)wire_read_enumeration(reader, WIRE_FAILURE_POLICY_ABSTAIN);
  value->timeout = wire_read_u32(reader);
  value->label = wire_read_text(reader);
  value->patterns = wire_read_texts(reader);
  value->is_set = wire_read_u8(reader) != 0;
  value->protocols = wire_read_texts(reader);
}

void wire_write_attach(struct wire_writer *writer, const struct wire_attach *value)
{
  wire_write_i32(writer, value->order);
  wire_write_u8(writer, (uint8_t)value->failure_policy);
  wire_write_u32(writer, value->timeout);
  wire_write_text(writer, value->label);
  wire_write_texts(writer, value->patterns);
  wire_write_u8(writer, value->is_set);
  wire_write_texts(writer, value->protocols);
}

void wire_read_hold(struct wire_reader *reader, struct wire_hold *value)
{
  *value = (struct wire_hold){0};
  value->expiry = wire_read_u64(reader);
  value->label = wire_read_text(reader);
  value->is_last = wire_read_u8(reader) != 0;
  value->has_holder = wire_read_u8(reader) != 0;
  if (value->has_holder) {
    wire_read_peer_identity(reader, &value->holder);
  }
}

void wire_write_hold(struct wire_writer *writer, const struct wire_hold *value)
{
  wire_write_u64(writer, value->expiry);
  wire_write_text(writer, value->label);
  wire_write_u8(writer, value->is_last);
  wire_write_u8(writer, value->has_holder);
  if (value->has_holder) {
    wire_write_peer_identity(writer, &value->holder);
  }
}

void wire_read_amend(struct wire_reader *reader, struct wire_amend *value)
{
  *value = (struct wire_amend){0};
  value->target = wire_read_u64(reader);
}

void wire_write_amend(struct wire_writer *writer, const struct wire_amend *value)
{
  wire_write_u64(writer, value->target);
}

void wire_read_declare(struct wire_reader *reader, struct wire_declare *value)
{
  *value = (struct wire_declare){0};
  value->protocol_name = wire_read_text(reader);
}

void wire_write_declare(struct wire_writer *writer, const struct wire_declare *value)
{
  wire_write_text(writer, value->protocol_name);
}

void wire_read_ask(struct wire_reader *reader, struct wire_ask *value)
{
  *value = (struct wire_ask){0};
  value->deadline = wire_read_u32(reader);
  value->mode = (enum wire_query_mode)wire_read_enumeration(reader, WIRE_QUERY_MODE_COLLECT);
  value->fallback = (enum wire_verdict_kind)wire_read_enumeration(reader, WIRE_VERDICT_KIND_VETOED);
  value->parent = wire_read_u64(reader);
  value->flags = wire_read_u8(reader);
  if ((value->flags & ~15) != 0) {
    reader->failed = true;
  }
  value->override_reason = wire_read_text(reader);
  value->slots = wire_read_u32(reader);
}

void wire_write_ask(struct wire_writer *writer, const struct wire_ask *value)
{
  wire_write_u32(writer, value->deadline);
  wire_write_u8(writer, (uint8_t)value->mode);
  wire_write_u8(writer, (uint8_t)value->fallback);
  wire_write_u64(writer, value->parent);
  wire_write_u8(writer, value->flags);
  wire_write_text(writer, value->override_reason);
  wire_write_u32(writer, value->slots);
}

void wire_read_begin(struct wire_reader *reader, struct wire_begin *value)
{
  *value = (struct wire_begin){0};
  value->query = wire_read_u64(reader);
  value->is_last = wire_read_u8(reader) != 0;
  value->stage = (enum wire_action_stage)wire_read_enumeration(reader, WIRE_ACTION_STAGE_ASKED);
}

void wire_write_begin(struct wire_writer *writer, const struct wire_begin *value)
{
  wire_write_u64(writer, value->query);
  wire_write_u8(writer, value->is_last);
  wire_write_u8(writer, (uint8_t)value->stage);
}

void wire_read_late(struct wire_reader *reader, struct wire_late *value)
{
  *value = (struct wire_late){0};
  value->delegate = wire_read_u64(reader);
  value->actions = wire_read_u32(reader);
}

void wire_write_late(struct wire_writer *writer, const struct wire_late *value)
{
  wire_write_u64(writer, value->delegate);
  wire_write_u32(writer, value->actions);
}

void wire_read_question(struct wire_reader *reader, struct wire_question *value)
{
  *value = (struct wire_question){0};
  value->query = wire_read_u64(reader);
  value->delegate = wire_read_u64(reader);
  value->timeout = wire_read_u32(reader);
  wire_read_peer_identity(reader, &value->asker);
  value->is_dry_run = wire_read_u8(reader) != 0;
  value->wants_value = wire_read_u8(reader) != 0;
}

void wire_write_question(struct wire_writer *writer, const struct wire_question *value)
{
  wire_write_u64(writer, value->query);
  wire_write_u64(writer, value->delegate);
  wire_write_u32(writer, value->timeout);
  wire_write_peer_identity(writer, &value->asker);
  wire_write_u8(writer, value->is_dry_run);
  wire_write_u8(writer, value->wants_value);
}

void wire_read_answer(struct wire_reader *reader, struct wire_answer *value)
{
  *value = (struct wire_answer){0};
  value->query = wire_read_u64(reader);
  value->delegate = wire_read_u64(reader);
  value->answer = (enum wire_answer_kind)wire_read_enumeration(reader, WIRE_ANSWER_KIND_VALUE);
}

void wire_write_answer(struct wire_writer *writer, const struct wire_answer *value)
{
  wire_write_u64(writer, value->query);
  wire_write_u64(writer, value->delegate);
  wire_write_u8(writer, (uint8_t)value->answer);
}

void wire_read_defer(struct wire_reader *reader, struct wire_defer *value)
{
  *value = (struct wire_defer){0};
  value->query = wire_read_u64(reader);
  value->delegate = wire_read_u64(reader);
  value->extension = wire_read_u32(reader);
}

void wire_write_defer(struct wire_writer *writer, const struct wire_defer *value)
{
  wire_write_u64(writer, value->query);
  wire_write_u64(writer, value->delegate);
  wire_write_u32(writer, value->extension);
}

void wire_read_progress(struct wire_reader *reader, struct wire_progress *value)
{
  *value = (struct wire_progress){0};
  value->query = wire_read_u64(reader);
  wire_read_delegate_identity(reader, &value->delegate);
  value->timeout = wire_read_u32(reader);
  value->stage = (enum wire_progress_stage)wire_read_enumeration(reader, WIRE_PROGRESS_STAGE_SETTLED);
  value->outcome = (enum wire_outcome_kind)wire_read_enumeration(reader, WIRE_OUTCOME_KIND_ANSWERED);
}

void wire_write_progress(struct wire_writer *writer, const struct wire_progress *value)
{
  wire_write_u64(writer, value->query);
  wire_write_delegate_identity(writer, &value->delegate);
  wire_write_u32(writer, value->timeout);
  wire_write_u8(writer, (uint8_t)value->stage);
  wire_write_u8(writer, (uint8_t)value->outcome);
}

void wire_read_outcome(struct wire_reader *reader, struct wire_outcome *value)
{
  *value = (struct wire_outcome){0};
  wire_read_delegate_identity(reader, &value->delegate);
  value->outcome = (enum wire_outcome_kind)wire_read_enumeration(reader, WIRE_OUTCOME_KIND_ANSWERED);
  value->reason = wire_read_text(reader);
  value->elapsed = wire_read_u64(reader);
  value->value = wire_read_bytes(reader);
}

void wire_write_outcome(struct wire_writer *writer, const struct wire_outcome *value)
{
  wire_write_delegate_identity(writer, &value->delegate);
  wire_write_u8(writer, (uint8_t)value->outcome);
  wire_write_text(writer, value->reason);
  wire_write_u64(writer, value->elapsed);
  wire_write_bytes(writer, value->value);
}

bool wire_next_outcome(struct wire_elements *list, struct wire_outcome *value)
{
  struct wire_reader record;
  if (!wire_next_record(list, &record)) {
    return false;
  }
  wire_read_outcome(&record, value);
  return !record.failed;
}

void wire_read_verdict(struct wire_reader *reader, struct wire_verdict *value)
{
  *value = (struct wire_verdict){0};
  value->query = wire_read_u64(reader);
  value->verdict = (enum wire_verdict_kind)wire_read_enumeration(reader, WIRE_VERDICT_KIND_VETOED);
  value->is_unanswered = wire_read_u8(reader) != 0;
  value->outcomes = wire_read_records(reader);
  struct wire_elements rest = value->outcomes;
  struct wire_outcome record;
  while (rest.count > 0) {
    if (!wire_next_outcome(&rest, &record)) {
      reader->failed = true;
      return;
    }
  }
  value->is_overridden = wire_read_u8(reader) != 0;
  value->is_dry_run = wire_read_u8(reader) != 0;
  value->omitted_count = wire_read_u32(reader);
  value->similar_name = wire_read_text(reader);
}

void wire_write_verdict(struct wire_writer *writer, const struct wire_verdict *value)
{
  wire_write_u64(writer, value->query);
  wire_write_u8(writer, (uint8_t)value->verdict);
  wire_write_u8(writer, value->is_unanswered);
  wire_write_elements(writer, value->outcomes);
  wire_write_u8(writer, value->is_overridden);
  wire_write_u8(writer, value->is_dry_run);
  wire_write_u32(writer, value->omitted_count);
  wire_write_text(writer, value->similar_name);
}

void wire_read_concluded(struct wire_reader *reader, struct wire_concluded *value)
{
  *value = (struct wire_concluded){0};
  value->query = wire_read_u64(reader);
  value->delegate = wire_read_u64(reader);
  value->conclusion = (enum wire_conclusion_kind)wire_read_enumeration(reader, WIRE_CONCLUSION_KIND_CANCELLED);
}

void wire_write_concluded(struct wire_writer *writer, const struct wire_concluded *value)
{
  wire_write_u64(writer, value->query);
  wire_write_u64(writer, value->delegate);
  wire_write_u8(writer, (uint8_t)value->conclusion);
}

void wire_read_access_subject(struct wire_reader *reader, struct wire_access_subject *value)
{
  *value = (struct wire_access_subject){0};
  value->uid = wire_read_u32(reader);
  value->groups = wire_read_integers(reader);
  value->unit = wire_read_text(reader);
}

void wire_write_access_subject(struct wire_writer *writer, const struct wire_access_subject *value)
{
  wire_write_u32(writer, value->uid);
  wire_write_elements(writer, value->groups);
  wire_write_text(writer, value->unit);
}

void wire_read_access_question(struct wire_reader *reader, struct wire_access_question *value)
{
  *value = (struct wire_access_question){0};
  value->action = wire_read_text(reader);
  value->has_subject = wire_read_u8(reader) != 0;
  if (value->has_subject) {
    wire_read_access_subject(reader, &value->subject);
  }
}

void wire_write_access_question(struct wire_writer *writer, const struct wire_access_question *value)
{
  wire_write_text(writer, value->action);
  wire_write_u8(writer, value->has_subject);
  if (value->has_subject) {
    wire_write_access_subject(writer, &value->subject);
  }
}

void wire_read_access_line(struct wire_reader *reader, struct wire_access_line *value)
{
  *value = (struct wire_access_line){0};
  value->file = wire_read_text(reader);
  value->number = wire_read_u32(reader);
  value->text = wire_read_text(reader);
}

void wire_write_access_line(struct wire_writer *writer, const struct wire_access_line *value)
{
  wire_write_text(writer, value->file);
  wire_write_u32(writer, value->number);
  wire_write_text(writer, value->text);
}

void wire_read_access_entry(struct wire_reader *reader, struct wire_access_entry *value)
{
  *value = (struct wire_access_entry){0};
  value->decision = (enum wire_access_decision)wire_read_enumeration(reader, WIRE_ACCESS_DECISION_EXEMPT);
  wire_read_access_line(reader, &value->line);
  wire_read_access_subject(reader, &value->subject);
}

void wire_write_access_entry(struct wire_writer *writer, const struct wire_access_entry *value)
{
  wire_write_u8(writer, (uint8_t)value->decision);
  wire_write_access_line(writer, &value->line);
  wire_write_access_subject(writer, &value->subject);
}

void wire_read_near_miss_entry(struct wire_reader *reader, struct wire_near_miss_entry *value)
{
  *value = (struct wire_near_miss_entry){0};
  wire_read_access_line(reader, &value->line);
  value->lacks = wire_read_text(reader);
}

void wire_write_near_miss_entry(struct wire_writer *writer, const struct wire_near_miss_entry *value)
{
  wire_write_access_line(writer, &value->line);
  wire_write_text(writer, value->lacks);
}

void wire_read_list(struct wire_reader *reader, struct wire_list *value)
{
  *value = (struct wire_list){0};
  value->subject = (enum wire_list_subject)wire_read_enumeration(reader, WIRE_LIST_SUBJECT_VERDICTS);
  value->connection = wire_read_u64(reader);
  if (value->subject == WIRE_LIST_SUBJECT_ACCESS) {
    wire_read_access_question(reader, &value->question);
  }
}

void wire_write_list(struct wire_writer *writer, const struct wire_list *value)
{
  wire_write_u8(writer, (uint8_t)value->subject);
  wire_write_u64(writer, value->connection);
  if (value->subject == WIRE_LIST_SUBJECT_ACCESS) {
    wire_write_access_question(writer, &value->question);
  }
}

void wire_read_bus_entry(struct wire_reader *reader, struct wire_bus_entry *value)
{
  *value = (struct wire_bus_entry){0};
  value->pid = wire_read_u32(reader);
  value->software = wire_read_text(reader);
  value->address = wire_read_text(reader);
  value->uptime = wire_read_u64(reader);
  value->connections = wire_read_u32(reader);
  value->observations = wire_read_u32(reader);
  value->delegates = wire_read_u32(reader);
  value->queries = wire_read_u32(reader);
  value->posted = wire_read_u64(reader);
  value->delivered = wire_read_u64(reader);
  value->lost = wire_read_u64(reader);
  value->asked = wire_read_u64(reader);
  value->vetoed = wire_read_u64(reader);
  value->holds = wire_read_u32(reader);
  value->actions = wire_read_u32(reader);
  value->denied = wire_read_u64(reader);
  value->refused = wire_read_u64(reader);
  value->posted_bytes = wire_read_u64(reader);
  value->iterations = wire_read_u64(reader);
  value->busy = wire_read_u64(reader);
  value->longest = wire_read_u64(reader);
  value->log_used = wire_read_u64(reader);
  value->log_max = wire_read_u64(reader);
  value->kept = wire_read_u32(reader);
}

void wire_write_bus_entry(struct wire_writer *writer, const struct wire_bus_entry *value)
{
  wire_write_u32(writer, value->pid);
  wire_write_text(writer, value->software);
  wire_write_text(writer, value->address);
  wire_write_u64(writer, value->uptime);
  wire_write_u32(writer, value->connections);
  wire_write_u32(writer, value->observations);
  wire_write_u32(writer, value->delegates);
  wire_write_u32(writer, value->queries);
  wire_write_u64(writer, value->posted);
  wire_write_u64(writer, value->delivered);
  wire_write_u64(writer, value->lost);
  wire_write_u64(writer, value->asked);
  wire_write_u64(writer, value->vetoed);
  wire_write_u32(writer, value->holds);
  wire_write_u32(writer, value->actions);
  wire_write_u64(writer, value->denied);
  wire_write_u64(writer, value->refused);
  wire_write_u64(writer, value->posted_bytes);
  wire_write_u64(writer, value->iterations);
  wire_write_u64(writer, value->busy);
  wire_write_u64(writer, value->longest);
  wire_write_u64(writer, value->log_used);
  wire_write_u64(writer, value->log_max);
  wire_write_u32(writer, value->kept);
}

void wire_read_connection_entry(struct wire_reader *reader, struct wire_connection_entry *value)
{
  *value = (struct wire_connection_entry){0};
  value->id = wire_read_u64(reader);
  wire_read_peer_identity(reader, &value->peer);
  value->age = wire_read_u64(reader);
  value->observations = wire_read_u32(reader);
  value->delegates = wire_read_u32(reader);
  value->queries = wire_read_u32(reader);
  value->queued = wire_read_u64(reader);
  value->lost = wire_read_u64(reader);
  value->posted = wire_read_u64(reader);
  value->state = wire_read_u8(reader);
  value->buffered = wire_read_u64(reader);
  value->coalesced = wire_read_u64(reader);
  value->posted_bytes = wire_read_u64(reader);
  value->delivered = wire_read_u64(reader);
  value->denied = wire_read_u64(reader);
  value->refused = wire_read_u64(reader);
  value->asked = wire_read_u64(reader);
  value->pauses = wire_read_u64(reader);
  value->paused_time = wire_read_u64(reader);
  value->lossy_time = wire_read_u64(reader);
}

void wire_write_connection_entry(struct wire_writer *writer, const struct wire_connection_entry *value)
{
  wire_write_u64(writer, value->id);
  wire_write_peer_identity(writer, &value->peer);
  wire_write_u64(writer, value->age);
  wire_write_u32(writer, value->observations);
  wire_write_u32(writer, value->delegates);
  wire_write_u32(writer, value->queries);
  wire_write_u64(writer, value->queued);
  wire_write_u64(writer, value->lost);
  wire_write_u64(writer, value->posted);
  wire_write_u8(writer, value->state);
  wire_write_u64(writer, value->buffered);
  wire_write_u64(writer, value->coalesced);
  wire_write_u64(writer, value->posted_bytes);
  wire_write_u64(writer, value->delivered);
  wire_write_u64(writer, value->denied);
  wire_write_u64(writer, value->refused);
  wire_write_u64(writer, value->asked);
  wire_write_u64(writer, value->pauses);
  wire_write_u64(writer, value->paused_time);
  wire_write_u64(writer, value->lossy_time);
}

void wire_read_departed_entry(struct wire_reader *reader, struct wire_departed_entry *value)
{
  *value = (struct wire_departed_entry){0};
  value->id = wire_read_u64(reader);
  wire_read_peer_identity(reader, &value->peer);
  value->age = wire_read_u64(reader);
  value->elapsed = wire_read_u64(reader);
  value->reason = wire_read_u16(reader);
  value->lost = wire_read_u64(reader);
  value->posted = wire_read_u64(reader);
}

void wire_write_departed_entry(struct wire_writer *writer, const struct wire_departed_entry *value)
{
  wire_write_u64(writer, value->id);
  wire_write_peer_identity(writer, &value->peer);
  wire_write_u64(writer, value->age);
  wire_write_u64(writer, value->elapsed);
  wire_write_u16(writer, value->reason);
  wire_write_u64(writer, value->lost);
  wire_write_u64(writer, value->posted);
}

void wire_read_account_entry(struct wire_reader *reader, struct wire_account_entry *value)
{
  *value = (struct wire_account_entry){0};
  value->uid = wire_read_u32(reader);
  value->weight = wire_read_u32(reader);
  value->is_privileged = wire_read_u8(reader) != 0;
  value->resource = wire_read_text(reader);
  value->used = wire_read_u64(reader);
  value->share = wire_read_u64(reader);
  value->total = wire_read_u64(reader);
}

void wire_write_account_entry(struct wire_writer *writer, const struct wire_account_entry *value)
{
  wire_write_u32(writer, value->uid);
  wire_write_u32(writer, value->weight);
  wire_write_u8(writer, value->is_privileged);
  wire_write_text(writer, value->resource);
  wire_write_u64(writer, value->used);
  wire_write_u64(writer, value->share);
  wire_write_u64(writer, value->total);
}

void wire_read_durations(struct wire_reader *reader, struct wire_durations *value)
{
  *value = (struct wire_durations){0};
  value->sum = wire_read_u64(reader);
  value->longest = wire_read_u64(reader);
  value->first = wire_read_u16(reader);
  value->counts = wire_read_integers(reader);
}

void wire_write_durations(struct wire_writer *writer, const struct wire_durations *value)
{
  wire_write_u64(writer, value->sum);
  wire_write_u64(writer, value->longest);
  wire_write_u16(writer, value->first);
  wire_write_elements(writer, value->counts);
}

void wire_read_outcome_counts(struct wire_reader *reader, struct wire_outcome_counts *value)
{
  *value = (struct wire_outcome_counts){0};
  value->approved = wire_read_u64(reader);
  value->vetoed = wire_read_u64(reader);
  value->abstained = wire_read_u64(reader);
  value->timed_out = wire_read_u64(reader);
  value->gone = wire_read_u64(reader);
  value->failed = wire_read_u64(reader);
  value->held = wire_read_u64(reader);
  value->answered = wire_read_u64(reader);
}

void wire_write_outcome_counts(struct wire_writer *writer, const struct wire_outcome_counts *value)
{
  wire_write_u64(writer, value->approved);
  wire_write_u64(writer, value->vetoed);
  wire_write_u64(writer, value->abstained);
  wire_write_u64(writer, value->timed_out);
  wire_write_u64(writer, value->gone);
  wire_write_u64(writer, value->failed);
  wire_write_u64(writer, value->held);
  wire_write_u64(writer, value->answered);
}

void wire_read_query_participant(struct wire_reader *reader, struct wire_query_participant *value)
{
  *value = (struct wire_query_participant){0};
  value->connection = wire_read_u64(reader);
  wire_read_delegate_identity(reader, &value->delegate);
  value->state = (enum wire_participant_state)wire_read_enumeration(reader, WIRE_PARTICIPANT_STATE_SETTLED);
  value->outcome = (enum wire_outcome_kind)wire_read_enumeration(reader, WIRE_OUTCOME_KIND_ANSWERED);
  value->reason = wire_read_text(reader);
  value->elapsed = wire_read_u64(reader);
  value->remaining = wire_read_u64(reader);
}

void wire_write_query_participant(struct wire_writer *writer, const struct wire_query_participant *value)
{
  wire_write_u64(writer, value->connection);
  wire_write_delegate_identity(writer, &value->delegate);
  wire_write_u8(writer, (uint8_t)value->state);
  wire_write_u8(writer, (uint8_t)value->outcome);
  wire_write_text(writer, value->reason);
  wire_write_u64(writer, value->elapsed);
  wire_write_u64(writer, value->remaining);
}

bool wire_next_query_participant(struct wire_elements *list, struct wire_query_participant *value)
{
  struct wire_reader record;
  if (!wire_next_record(list, &record)) {
    return false;
  }
  wire_read_query_participant(&record, value);
  return !record.failed;
}

void wire_read_query_entry(struct wire_reader *reader, struct wire_query_entry *value)
{
  *value = (struct wire_query_entry){0};
  value->id = wire_read_u64(reader);
  value->connection = wire_read_u64(reader);
  wire_read_peer_identity(reader, &value->peer);
  value->name = wire_read_text(reader);
  value->object = wire_read_text(reader);
  value->mode = (enum wire_query_mode)wire_read_enumeration(reader, WIRE_QUERY_MODE_COLLECT);
  value->is_dry_run = wire_read_u8(reader) != 0;
  value->age = wire_read_u64(reader);
  value->remaining = wire_read_u64(reader);
  value->participants = wire_read_records(reader);
  struct wire_elements rest = value->participants;
  struct wire_query_participant record;
  while (rest.count > 0) {
    if (!wire_next_query_participant(&rest, &record)) {
      reader->failed = true;
      return;
    }
  }
  value->omitted_count = wire_read_u32(reader);
  value->stage = (enum wire_action_stage)wire_read_enumeration(reader, WIRE_ACTION_STAGE_ASKED);
}

void wire_write_query_entry(struct wire_writer *writer, const struct wire_query_entry *value)
{
  wire_write_u64(writer, value->id);
  wire_write_u64(writer, value->connection);
  wire_write_peer_identity(writer, &value->peer);
  wire_write_text(writer, value->name);
  wire_write_text(writer, value->object);
  wire_write_u8(writer, (uint8_t)value->mode);
  wire_write_u8(writer, value->is_dry_run);
  wire_write_u64(writer, value->age);
  wire_write_u64(writer, value->remaining);
  wire_write_elements(writer, value->participants);
  wire_write_u32(writer, value->omitted_count);
  wire_write_u8(writer, (uint8_t)value->stage);
}

void wire_read_name_entry(struct wire_reader *reader, struct wire_name_entry *value)
{
  *value = (struct wire_name_entry){0};
  value->name = wire_read_text(reader);
  value->asked = wire_read_u64(reader);
  value->vetoed = wire_read_u64(reader);
  value->overridden = wire_read_u64(reader);
  value->cancelled = wire_read_u64(reader);
  wire_read_outcome_counts(reader, &value->outcomes);
  wire_read_durations(reader, &value->durations);
}

void wire_write_name_entry(struct wire_writer *writer, const struct wire_name_entry *value)
{
  wire_write_text(writer, value->name);
  wire_write_u64(writer, value->asked);
  wire_write_u64(writer, value->vetoed);
  wire_write_u64(writer, value->overridden);
  wire_write_u64(writer, value->cancelled);
  wire_write_outcome_counts(writer, &value->outcomes);
  wire_write_durations(writer, &value->durations);
}

void wire_read_participant_entry(struct wire_reader *reader, struct wire_participant_entry *value)
{
  *value = (struct wire_participant_entry){0};
  value->role = (enum wire_participant_role)wire_read_enumeration(reader, WIRE_PARTICIPANT_ROLE_OBSERVER);
  value->label = wire_read_text(reader);
  value->unit = wire_read_text(reader);
  value->uid = wire_read_u32(reader);
  wire_read_outcome_counts(reader, &value->outcomes);
  wire_read_durations(reader, &value->durations);
}

void wire_write_participant_entry(struct wire_writer *writer, const struct wire_participant_entry *value)
{
  wire_write_u8(writer, (uint8_t)value->role);
  wire_write_text(writer, value->label);
  wire_write_text(writer, value->unit);
  wire_write_u32(writer, value->uid);
  wire_write_outcome_counts(writer, &value->outcomes);
  wire_write_durations(writer, &value->durations);
}

void wire_read_user_entry(struct wire_reader *reader, struct wire_user_entry *value)
{
  *value = (struct wire_user_entry){0};
  value->uid = wire_read_u32(reader);
  value->unit = wire_read_text(reader);
  value->connections = wire_read_u32(reader);
  value->posted = wire_read_u64(reader);
  value->posted_bytes = wire_read_u64(reader);
  value->delivered = wire_read_u64(reader);
  value->lost = wire_read_u64(reader);
  value->asked = wire_read_u64(reader);
  value->denied = wire_read_u64(reader);
  value->refused = wire_read_u64(reader);
}

void wire_write_user_entry(struct wire_writer *writer, const struct wire_user_entry *value)
{
  wire_write_u32(writer, value->uid);
  wire_write_text(writer, value->unit);
  wire_write_u32(writer, value->connections);
  wire_write_u64(writer, value->posted);
  wire_write_u64(writer, value->posted_bytes);
  wire_write_u64(writer, value->delivered);
  wire_write_u64(writer, value->lost);
  wire_write_u64(writer, value->asked);
  wire_write_u64(writer, value->denied);
  wire_write_u64(writer, value->refused);
}

void wire_read_past_verdict(struct wire_reader *reader, struct wire_past_verdict *value)
{
  *value = (struct wire_past_verdict){0};
  value->connection = wire_read_u64(reader);
  value->number = wire_read_u64(reader);
  value->age = wire_read_u64(reader);
  value->fields = wire_read_texts(reader);
}

void wire_write_past_verdict(struct wire_writer *writer, const struct wire_past_verdict *value)
{
  wire_write_u64(writer, value->connection);
  wire_write_u64(writer, value->number);
  wire_write_u64(writer, value->age);
  wire_write_texts(writer, value->fields);
}

void wire_read_entry(struct wire_reader *reader, struct wire_entry *value)
{
  *value = (struct wire_entry){0};
  uint8_t what = wire_read_u8(reader);
  switch (what) {
  case WIRE_ENTRY_WHAT_BUS:
    wire_read_bus_entry(reader, &value->bus);
    break;
  case WIRE_ENTRY_WHAT_CONNECTION:
    wire_read_connection_entry(reader, &value->connection);
    break;
  case WIRE_ENTRY_WHAT_OBSERVATION:
    wire_read_observation_entry(reader, &value->observation);
    break;
  case WIRE_ENTRY_WHAT_DELEGATE:
    wire_read_delegate_entry(reader, &value->delegate);
    break;
  case WIRE_ENTRY_WHAT_HOLD:
    wire_read_hold_entry(reader, &value->hold);
    break;
  case WIRE_ENTRY_WHAT_MISSING:
    wire_read_missing_entry(reader, &value->missing);
    break;
  case WIRE_ENTRY_WHAT_OBJECT:
    wire_read_object_entry(reader, &value->object);
    break;
  case WIRE_ENTRY_WHAT_PROTOCOL:
    wire_read_protocol_entry(reader, &value->protocol);
    break;
  case WIRE_ENTRY_WHAT_MEMBER:
    wire_read_member_entry(reader, &value->member);
    break;
  case WIRE_ENTRY_WHAT_RETAINED:
    wire_read_retained_entry(reader, &value->retained);
    break;
  case WIRE_ENTRY_WHAT_ACCESS:
    wire_read_access_entry(reader, &value->access);
    break;
  case WIRE_ENTRY_WHAT_NEAR_MISS:
    wire_read_near_miss_entry(reader, &value->near_miss);
    break;
  case WIRE_ENTRY_WHAT_ENDING:
    wire_read_ending_entry(reader, &value->ending);
    break;
  case WIRE_ENTRY_WHAT_DEPARTED:
    wire_read_departed_entry(reader, &value->departed);
    break;
  case WIRE_ENTRY_WHAT_ACCOUNT:
    wire_read_account_entry(reader, &value->account);
    break;
  case WIRE_ENTRY_WHAT_QUERY:
    wire_read_query_entry(reader, &value->query);
    break;
  case WIRE_ENTRY_WHAT_NAME:
    wire_read_name_entry(reader, &value->name);
    break;
  case WIRE_ENTRY_WHAT_PARTICIPANT:
    wire_read_participant_entry(reader, &value->participant);
    break;
  case WIRE_ENTRY_WHAT_USER:
    wire_read_user_entry(reader, &value->user);
    break;
  case WIRE_ENTRY_WHAT_VERDICT:
    wire_read_past_verdict(reader, &value->verdict);
    break;
  default:
    reader->failed = true;
    return;
  }
  value->what = (enum wire_entry_what)what;
}

void wire_write_entry(struct wire_writer *writer, const struct wire_entry *value)
{
  wire_write_u8(writer, (uint8_t)value->what);
  switch (value->what) {
  case WIRE_ENTRY_WHAT_BUS:
    wire_write_bus_entry(writer, &value->bus);
    break;
  case WIRE_ENTRY_WHAT_CONNECTION:
    wire_write_connection_entry(writer, &value->connection);
    break;
  case WIRE_ENTRY_WHAT_OBSERVATION:
    wire_write_observation_entry(writer, &value->observation);
    break;
  case WIRE_ENTRY_WHAT_DELEGATE:
    wire_write_delegate_entry(writer, &value->delegate);
    break;
  case WIRE_ENTRY_WHAT_HOLD:
    wire_write_hold_entry(writer, &value->hold);
    break;
  case WIRE_ENTRY_WHAT_MISSING:
    wire_write_missing_entry(writer, &value->missing);
    break;
  case WIRE_ENTRY_WHAT_OBJECT:
    wire_write_object_entry(writer, &value->object);
    break;
  case WIRE_ENTRY_WHAT_PROTOCOL:
    wire_write_protocol_entry(writer, &value->protocol);
    break;
  case WIRE_ENTRY_WHAT_MEMBER:
    wire_write_member_entry(writer, &value->member);
    break;
  case WIRE_ENTRY_WHAT_RETAINED:
    wire_write_retained_entry(writer, &value->retained);
    break;
  case WIRE_ENTRY_WHAT_ACCESS:
    wire_write_access_entry(writer, &value->access);
    break;
  case WIRE_ENTRY_WHAT_NEAR_MISS:
    wire_write_near_miss_entry(writer, &value->near_miss);
    break;
  case WIRE_ENTRY_WHAT_ENDING:
    wire_write_ending_entry(writer, &value->ending);
    break;
  case WIRE_ENTRY_WHAT_DEPARTED:
    wire_write_departed_entry(writer, &value->departed);
    break;
  case WIRE_ENTRY_WHAT_ACCOUNT:
    wire_write_account_entry(writer, &value->account);
    break;
  case WIRE_ENTRY_WHAT_QUERY:
    wire_write_query_entry(writer, &value->query);
    break;
  case WIRE_ENTRY_WHAT_NAME:
    wire_write_name_entry(writer, &value->name);
    break;
  case WIRE_ENTRY_WHAT_PARTICIPANT:
    wire_write_participant_entry(writer, &value->participant);
    break;
  case WIRE_ENTRY_WHAT_USER:
    wire_write_user_entry(writer, &value->user);
    break;
  case WIRE_ENTRY_WHAT_VERDICT:
    wire_write_past_verdict(writer, &value->verdict);
    break;
  }
}

void wire_read_observation_entry(struct wire_reader *reader, struct wire_observation_entry *value)
{
  *value = (struct wire_observation_entry){0};
  value->connection = wire_read_u64(reader);
  value->pattern = wire_read_text(reader);
  value->object = wire_read_text(reader);
  value->suspension = (enum wire_suspension_behavior)wire_read_enumeration(reader, WIRE_SUSPENSION_BEHAVIOR_DELIVER_IMMEDIATELY);
  value->is_awaited = wire_read_u8(reader) != 0;
}

void wire_write_observation_entry(struct wire_writer *writer, const struct wire_observation_entry *value)
{
  wire_write_u64(writer, value->connection);
  wire_write_text(writer, value->pattern);
  wire_write_text(writer, value->object);
  wire_write_u8(writer, (uint8_t)value->suspension);
  wire_write_u8(writer, value->is_awaited);
}

void wire_read_delegate_entry(struct wire_reader *reader, struct wire_delegate_entry *value)
{
  *value = (struct wire_delegate_entry){0};
  value->connection = wire_read_u64(reader);
  wire_read_delegate_identity(reader, &value->delegate);
  value->object = wire_read_text(reader);
  value->order = wire_read_i32(reader);
  value->failure_policy = (enum wire_failure_policy)wire_read_enumeration(reader, WIRE_FAILURE_POLICY_ABSTAIN);
  value->timeout = wire_read_u32(reader);
  value->patterns = wire_read_texts(reader);
}

void wire_write_delegate_entry(struct wire_writer *writer, const struct wire_delegate_entry *value)
{
  wire_write_u64(writer, value->connection);
  wire_write_delegate_identity(writer, &value->delegate);
  wire_write_text(writer, value->object);
  wire_write_i32(writer, value->order);
  wire_write_u8(writer, (uint8_t)value->failure_policy);
  wire_write_u32(writer, value->timeout);
  wire_write_texts(writer, value->patterns);
}

void wire_read_hold_entry(struct wire_reader *reader, struct wire_hold_entry *value)
{
  *value = (struct wire_hold_entry){0};
  value->connection = wire_read_u64(reader);
  wire_read_delegate_identity(reader, &value->delegate);
  value->pattern = wire_read_text(reader);
  value->object = wire_read_text(reader);
  value->why = wire_read_text(reader);
  value->age = wire_read_u64(reader);
  value->remaining = wire_read_u64(reader);
}

void wire_write_hold_entry(struct wire_writer *writer, const struct wire_hold_entry *value)
{
  wire_write_u64(writer, value->connection);
  wire_write_delegate_identity(writer, &value->delegate);
  wire_write_text(writer, value->pattern);
  wire_write_text(writer, value->object);
  wire_write_text(writer, value->why);
  wire_write_u64(writer, value->age);
  wire_write_u64(writer, value->remaining);
}

void wire_read_missing_entry(struct wire_reader *reader, struct wire_missing_entry *value)
{
  *value = (struct wire_missing_entry){0};
  value->name = wire_read_text(reader);
}

void wire_write_missing_entry(struct wire_writer *writer, const struct wire_missing_entry *value)
{
  wire_write_text(writer, value->name);
}

void wire_read_retained_entry(struct wire_reader *reader, struct wire_retained_entry *value)
{
  *value = (struct wire_retained_entry){0};
  value->connection = wire_read_u64(reader);
  value->uid = wire_read_u32(reader);
  value->name = wire_read_text(reader);
  value->object = wire_read_text(reader);
  value->length = wire_read_u32(reader);
  value->age = wire_read_u64(reader);
}

void wire_write_retained_entry(struct wire_writer *writer, const struct wire_retained_entry *value)
{
  wire_write_u64(writer, value->connection);
  wire_write_u32(writer, value->uid);
  wire_write_text(writer, value->name);
  wire_write_text(writer, value->object);
  wire_write_u32(writer, value->length);
  wire_write_u64(writer, value->age);
}

void wire_read_ending_entry(struct wire_reader *reader, struct wire_ending_entry *value)
{
  *value = (struct wire_ending_entry){0};
  value->connection = wire_read_u64(reader);
  wire_read_peer_identity(reader, &value->peer);
  value->why = wire_read_text(reader);
}

void wire_write_ending_entry(struct wire_writer *writer, const struct wire_ending_entry *value)
{
  wire_write_u64(writer, value->connection);
  wire_write_peer_identity(writer, &value->peer);
  wire_write_text(writer, value->why);
}

void wire_read_ended(struct wire_reader *reader, struct wire_ended *value)
{
  *value = (struct wire_ended){0};
  uint8_t what = wire_read_u8(reader);
  switch (what) {
  case WIRE_ENDED_WHAT_REPLACED:
    wire_read_delegate_entry(reader, &value->replaced);
    break;
  case WIRE_ENDED_WHAT_EXPIRED:
    break;
  case WIRE_ENDED_WHAT_NOT_PERMITTED:
    value->not_permitted = wire_read_text(reader);
    break;
  default:
    reader->failed = true;
    return;
  }
  value->what = (enum wire_ended_what)what;
}

void wire_write_ended(struct wire_writer *writer, const struct wire_ended *value)
{
  wire_write_u8(writer, (uint8_t)value->what);
  switch (value->what) {
  case WIRE_ENDED_WHAT_REPLACED:
    wire_write_delegate_entry(writer, &value->replaced);
    break;
  case WIRE_ENDED_WHAT_EXPIRED:
    break;
  case WIRE_ENDED_WHAT_NOT_PERMITTED:
    wire_write_text(writer, value->not_permitted);
    break;
  }
}

void wire_read_object_entry(struct wire_reader *reader, struct wire_object_entry *value)
{
  *value = (struct wire_object_entry){0};
  value->object = wire_read_text(reader);
  value->protocol_name = wire_read_text(reader);
  value->delegates = wire_read_u32(reader);
  value->connection = wire_read_u64(reader);
}

void wire_write_object_entry(struct wire_writer *writer, const struct wire_object_entry *value)
{
  wire_write_text(writer, value->object);
  wire_write_text(writer, value->protocol_name);
  wire_write_u32(writer, value->delegates);
  wire_write_u64(writer, value->connection);
}

void wire_read_protocol_entry(struct wire_reader *reader, struct wire_protocol_entry *value)
{
  *value = (struct wire_protocol_entry){0};
  value->name = wire_read_text(reader);
  value->parents = wire_read_texts(reader);
  value->members = wire_read_u32(reader);
  value->connection = wire_read_u64(reader);
  value->documentation = wire_read_text(reader);
}

void wire_write_protocol_entry(struct wire_writer *writer, const struct wire_protocol_entry *value)
{
  wire_write_text(writer, value->name);
  wire_write_texts(writer, value->parents);
  wire_write_u32(writer, value->members);
  wire_write_u64(writer, value->connection);
  wire_write_text(writer, value->documentation);
}

void wire_read_member_entry(struct wire_reader *reader, struct wire_member_entry *value)
{
  *value = (struct wire_member_entry){0};
  value->origin = wire_read_text(reader);
  value->kind = (enum wire_method_kind)wire_read_enumeration(reader, WIRE_METHOD_KIND_VALUE);
  value->is_required = wire_read_u8(reader) != 0;
  value->name = wire_read_text(reader);
  value->parameters = wire_read_text(reader);
  value->result = wire_read_text(reader);
  value->documentation = wire_read_text(reader);
}

void wire_write_member_entry(struct wire_writer *writer, const struct wire_member_entry *value)
{
  wire_write_text(writer, value->origin);
  wire_write_u8(writer, (uint8_t)value->kind);
  wire_write_u8(writer, value->is_required);
  wire_write_text(writer, value->name);
  wire_write_text(writer, value->parameters);
  wire_write_text(writer, value->result);
  wire_write_text(writer, value->documentation);
}
