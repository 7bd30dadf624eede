/* SPDX-License-Identifier: Apache-2.0
 *
 * Made by "make wire" from docs/tribune.wire. Change that instead.
 *
 * Prints fields as index.json of the wire's vectors has them, and writes them again. */

#include "vectors.h"

#define PRINT_RECORDS(before, list, type) \
  do { \
    struct wire_elements rest = list; \
    struct wire_##type record; \
    fputs(before, out); \
    for (const char *mark = "["; wire_next_##type(&rest, &record); mark = ",") { \
      print_##type(out, mark, &record); \
    } \
    fputs((list).count == 0 ? "[]" : "]", out); \
  } while (0)

#define HANDLE_FIELDS(number, type) \
  case WIRE_KIND_##number: { \
    struct wire_##type value; \
    wire_read_##type(reader, &value); \
    if (reader->failed) { \
      return false; \
    } \
    if (out != NULL) { \
      print_##type(out, "", &value); \
    } \
    if (writer != NULL) { \
      wire_write_##type(writer, &value); \
    } \
    return true; \
  }

static void print_peer_identity(FILE *out, const char *before, const struct wire_peer_identity *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"gid\":", value->gid);
  vector_print_number(out, ",\"pid\":", value->pid);
  vector_print_text(out, ",\"process\":", value->process);
  vector_print_number(out, ",\"uid\":", value->uid);
  vector_print_text(out, ",\"units\":", value->units);
  fputc('}', out);
}

static void print_delegate_identity(FILE *out, const char *before, const struct wire_delegate_identity *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"id\":", value->id);
  vector_print_text(out, ",\"label\":", value->label);
  print_peer_identity(out, ",\"peer\":", &value->peer);
  fputc('}', out);
}

static void print_welcome(FILE *out, const char *before, const struct wire_welcome *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"busPID\":", value->bus_pid);
  vector_print_number(out, ",\"connection\":", value->connection);
  vector_print_number(out, ",\"deadlineDefault\":", value->deadline_default);
  vector_print_number(out, ",\"deadlineMax\":", value->deadline_max);
  vector_print_number(out, ",\"delegatesMax\":", value->delegates_max);
  vector_print_number(out, ",\"observationsMax\":", value->observations_max);
  vector_print_number(out, ",\"payloadMax\":", value->payload_max);
  vector_print_number(out, ",\"queriesMax\":", value->queries_max);
  vector_print_text(out, ",\"software\":", value->software);
  fputc('}', out);
}

static void print_refusal(FILE *out, const char *before, const struct wire_refusal *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"code\":", value->code);
  fputc('}', out);
}

static void print_okay(FILE *out, const char *before, const struct wire_okay *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"delegate\":", value->delegate);
  vector_print_number(out, ",\"expiry\":", value->expiry);
  vector_print_number(out, ",\"late\":", value->late);
  vector_print_number(out, ",\"registration\":", value->registration);
  vector_print_number(out, ",\"retained\":", value->retained);
  fputc('}', out);
}

static void print_cancel(FILE *out, const char *before, const struct wire_cancel *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"target\":", value->target);
  fputc('}', out);
}

static void print_succeed(FILE *out, const char *before, const struct wire_succeed *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"predecessor\":", value->predecessor);
  vector_print_number(out, ",\"received\":", value->received);
  fputc('}', out);
}

static const char *const posting_style_words[] = {
  [0] = "now", [1] = "asSoonAsPossible", [2] = "whenIdle",
};

static void print_post(FILE *out, const char *before, const struct wire_post *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"deadline\":", value->deadline);
  vector_print_number(out, ",\"length\":", value->length);
  vector_print_number(out, ",\"options\":", value->options);
  fprintf(out, ",\"style\":\"%s\"", posting_style_words[value->style]);
  fputc('}', out);
}

static void print_lost(FILE *out, const char *before, const struct wire_lost *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"count\":", value->count);
  fputc('}', out);
}

static const char *const suspension_behavior_words[] = {
  [0] = "coalesce", [1] = "drop", [2] = "hold", [3] = "deliverImmediately",
};

static void print_observe(FILE *out, const char *before, const struct wire_observe *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"options\":", value->options);
  fprintf(out, ",\"suspension\":\"%s\"", suspension_behavior_words[value->suspension]);
  fputc('}', out);
}

static void print_room(FILE *out, const char *before, const struct wire_room *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"limit\":", value->limit);
  fputc('}', out);
}

static void print_pace(FILE *out, const char *before, const struct wire_pace *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"limit\":", value->limit);
  fputc('}', out);
}

static void print_suspend(FILE *out, const char *before, const struct wire_suspend *value)
{
  fputs(before, out);
  fprintf(out, "{\"isSuspended\":%s", value->is_suspended ? "true" : "false");
  fputc('}', out);
}

static void print_retained(FILE *out, const char *before, const struct wire_retained *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"age\":", value->age);
  vector_print_number(out, ",\"length\":", value->length);
  fputc('}', out);
}

static void print_done(FILE *out, const char *before, const struct wire_done *value)
{
  fputs(before, out);
  fprintf(out, "{\"hasFailed\":%s", value->has_failed ? "true" : "false");
  vector_print_number(out, ",\"post\":", value->post);
  vector_print_number(out, ",\"poster\":", value->poster);
  fputc('}', out);
}

static const char *const observer_failure_words[] = {
  [0] = "timedOut", [1] = "gone", [2] = "failed",
};

static void print_missing_observer(FILE *out, const char *before, const struct wire_missing_observer *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"connection\":", value->connection);
  vector_print_number(out, ",\"elapsed\":", value->elapsed);
  fprintf(out, ",\"failure\":\"%s\"", observer_failure_words[value->failure]);
  print_peer_identity(out, ",\"peer\":", &value->peer);
  vector_print_text(out, ",\"reason\":", value->reason);
  fputc('}', out);
}

static void print_awaited(FILE *out, const char *before, const struct wire_awaited *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"acknowledged\":", value->acknowledged);
  PRINT_RECORDS(",\"missing\":", value->missing, missing_observer);
  fputc('}', out);
}

static void print_poster_facts(FILE *out, const char *before, const struct wire_poster_facts *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"connection\":", value->connection);
  print_peer_identity(out, ",\"peer\":", &value->peer);
  vector_print_number(out, ",\"slot\":", value->slot);
  fputc('}', out);
}

static void print_monitor(FILE *out, const char *before, const struct wire_monitor *value)
{
  fputs(before, out);
  (void)value;
  fputc('{', out);
  fputc('}', out);
}

static void print_traffic(FILE *out, const char *before, const struct wire_traffic *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"from\":", value->from);
  vector_print_number(out, ",\"receivers\":", value->receivers);
  vector_print_number(out, ",\"time\":", value->time);
  vector_print_number(out, ",\"to\":", value->to);
  fputc('}', out);
}

static const char *const failure_policy_words[] = {
  [0] = "veto", [1] = "abstain",
};

static void print_attach(FILE *out, const char *before, const struct wire_attach *value)
{
  fputs(before, out);
  fprintf(out, "{\"failurePolicy\":\"%s\"", failure_policy_words[value->failure_policy]);
  fprintf(out, ",\"isSet\":%s", value->is_set ? "true" : "false");
  vector_print_text(out, ",\"label\":", value->label);
  fprintf(out, ",\"order\":%" PRId32, value->order);
  vector_print_texts(out, ",\"patterns\":", value->patterns);
  vector_print_texts(out, ",\"protocols\":", value->protocols);
  vector_print_number(out, ",\"timeout\":", value->timeout);
  fputc('}', out);
}

static void print_hold(FILE *out, const char *before, const struct wire_hold *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"expiry\":", value->expiry);
  if (value->has_holder) {
    print_peer_identity(out, ",\"holder\":", &value->holder);
  } else {
    fputs(",\"holder\":null", out);
  }
  fprintf(out, ",\"isLast\":%s", value->is_last ? "true" : "false");
  vector_print_text(out, ",\"label\":", value->label);
  fputc('}', out);
}

static void print_amend(FILE *out, const char *before, const struct wire_amend *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"target\":", value->target);
  fputc('}', out);
}

static void print_declare(FILE *out, const char *before, const struct wire_declare *value)
{
  fputs(before, out);
  vector_print_text(out, "{\"protocolName\":", value->protocol_name);
  fputc('}', out);
}

static const char *const query_mode_words[] = {
  [0] = "parallel", [1] = "all", [2] = "order", [3] = "first", [4] = "collect",
};

static const char *const verdict_kind_words[] = {
  [0] = "allowed", [1] = "vetoed",
};

static void print_ask(FILE *out, const char *before, const struct wire_ask *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"deadline\":", value->deadline);
  fprintf(out, ",\"fallback\":\"%s\"", verdict_kind_words[value->fallback]);
  vector_print_number(out, ",\"flags\":", value->flags);
  fprintf(out, ",\"mode\":\"%s\"", query_mode_words[value->mode]);
  vector_print_text(out, ",\"overrideReason\":", value->override_reason);
  vector_print_number(out, ",\"parent\":", value->parent);
  vector_print_number(out, ",\"slots\":", value->slots);
  fputc('}', out);
}

static const char *const action_stage_words[] = {
  [0] = "underWay", [1] = "waiting", [2] = "claiming", [3] = "asked",
};

static void print_begin(FILE *out, const char *before, const struct wire_begin *value)
{
  fputs(before, out);
  fprintf(out, "{\"isLast\":%s", value->is_last ? "true" : "false");
  vector_print_number(out, ",\"query\":", value->query);
  fprintf(out, ",\"stage\":\"%s\"", action_stage_words[value->stage]);
  fputc('}', out);
}

static void print_late(FILE *out, const char *before, const struct wire_late *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"actions\":", value->actions);
  vector_print_number(out, ",\"delegate\":", value->delegate);
  fputc('}', out);
}

static void print_question(FILE *out, const char *before, const struct wire_question *value)
{
  fputs(before, out);
  print_peer_identity(out, "{\"asker\":", &value->asker);
  vector_print_number(out, ",\"delegate\":", value->delegate);
  fprintf(out, ",\"isDryRun\":%s", value->is_dry_run ? "true" : "false");
  vector_print_number(out, ",\"query\":", value->query);
  vector_print_number(out, ",\"timeout\":", value->timeout);
  fprintf(out, ",\"wantsValue\":%s", value->wants_value ? "true" : "false");
  fputc('}', out);
}

static const char *const answer_kind_words[] = {
  [0] = "approve", [1] = "veto", [2] = "abstain", [3] = "failed", [4] = "value",
};

static void print_answer(FILE *out, const char *before, const struct wire_answer *value)
{
  fputs(before, out);
  fprintf(out, "{\"answer\":\"%s\"", answer_kind_words[value->answer]);
  vector_print_number(out, ",\"delegate\":", value->delegate);
  vector_print_number(out, ",\"query\":", value->query);
  fputc('}', out);
}

static void print_defer(FILE *out, const char *before, const struct wire_defer *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"delegate\":", value->delegate);
  vector_print_number(out, ",\"extension\":", value->extension);
  vector_print_number(out, ",\"query\":", value->query);
  fputc('}', out);
}

static const char *const progress_stage_words[] = {
  [0] = "deferred", [1] = "asked", [2] = "settled",
};

static const char *const outcome_kind_words[] = {
  [0] = "approved", [1] = "vetoed", [2] = "abstained", [3] = "timedOut", [4] = "gone", [5] = "failed", [6] = "held", [7] = "answered",
};

static void print_progress(FILE *out, const char *before, const struct wire_progress *value)
{
  fputs(before, out);
  print_delegate_identity(out, "{\"delegate\":", &value->delegate);
  fprintf(out, ",\"outcome\":\"%s\"", outcome_kind_words[value->outcome]);
  vector_print_number(out, ",\"query\":", value->query);
  fprintf(out, ",\"stage\":\"%s\"", progress_stage_words[value->stage]);
  vector_print_number(out, ",\"timeout\":", value->timeout);
  fputc('}', out);
}

static void print_outcome(FILE *out, const char *before, const struct wire_outcome *value)
{
  fputs(before, out);
  print_delegate_identity(out, "{\"delegate\":", &value->delegate);
  vector_print_number(out, ",\"elapsed\":", value->elapsed);
  fprintf(out, ",\"outcome\":\"%s\"", outcome_kind_words[value->outcome]);
  vector_print_text(out, ",\"reason\":", value->reason);
  vector_print_bytes(out, ",\"value\":", value->value);
  fputc('}', out);
}

static void print_verdict(FILE *out, const char *before, const struct wire_verdict *value)
{
  fputs(before, out);
  fprintf(out, "{\"isDryRun\":%s", value->is_dry_run ? "true" : "false");
  fprintf(out, ",\"isOverridden\":%s", value->is_overridden ? "true" : "false");
  fprintf(out, ",\"isUnanswered\":%s", value->is_unanswered ? "true" : "false");
  vector_print_number(out, ",\"omittedCount\":", value->omitted_count);
  PRINT_RECORDS(",\"outcomes\":", value->outcomes, outcome);
  vector_print_number(out, ",\"query\":", value->query);
  vector_print_text(out, ",\"similarName\":", value->similar_name);
  fprintf(out, ",\"verdict\":\"%s\"", verdict_kind_words[value->verdict]);
  fputc('}', out);
}

static const char *const conclusion_kind_words[] = {
  [0] = "allowed", [1] = "vetoed", [2] = "cancelled",
};

static void print_concluded(FILE *out, const char *before, const struct wire_concluded *value)
{
  fputs(before, out);
  fprintf(out, "{\"conclusion\":\"%s\"", conclusion_kind_words[value->conclusion]);
  vector_print_number(out, ",\"delegate\":", value->delegate);
  vector_print_number(out, ",\"query\":", value->query);
  fputc('}', out);
}

static void print_access_subject(FILE *out, const char *before, const struct wire_access_subject *value)
{
  fputs(before, out);
  vector_print_integers(out, "{\"groups\":", value->groups);
  vector_print_number(out, ",\"uid\":", value->uid);
  vector_print_text(out, ",\"unit\":", value->unit);
  fputc('}', out);
}

static void print_access_question(FILE *out, const char *before, const struct wire_access_question *value)
{
  fputs(before, out);
  vector_print_text(out, "{\"action\":", value->action);
  if (value->has_subject) {
    print_access_subject(out, ",\"subject\":", &value->subject);
  } else {
    fputs(",\"subject\":null", out);
  }
  fputc('}', out);
}

static void print_access_line(FILE *out, const char *before, const struct wire_access_line *value)
{
  fputs(before, out);
  vector_print_text(out, "{\"file\":", value->file);
  vector_print_number(out, ",\"number\":", value->number);
  vector_print_text(out, ",\"text\":", value->text);
  fputc('}', out);
}

static const char *const access_decision_words[] = {
  [0] = "allowed", [1] = "denied", [2] = "notAllowed", [3] = "exempt",
};

static void print_access_entry(FILE *out, const char *before, const struct wire_access_entry *value)
{
  fputs(before, out);
  fprintf(out, "{\"decision\":\"%s\"", access_decision_words[value->decision]);
  print_access_line(out, ",\"line\":", &value->line);
  print_access_subject(out, ",\"subject\":", &value->subject);
  fputc('}', out);
}

static void print_near_miss_entry(FILE *out, const char *before, const struct wire_near_miss_entry *value)
{
  fputs(before, out);
  vector_print_text(out, "{\"lacks\":", value->lacks);
  print_access_line(out, ",\"line\":", &value->line);
  fputc('}', out);
}

static const char *const list_subject_words[] = {
  [0] = "bus", [1] = "connections", [2] = "observations", [3] = "delegates", [4] = "chain", [5] = "holds", [6] = "objects",
  [7] = "protocols", [8] = "members", [9] = "retained", [10] = "access", [11] = "endings", [12] = "departed", [13] = "accounts",
  [14] = "queries", [15] = "names", [16] = "participants", [17] = "users", [18] = "verdicts",
};

static void print_list(FILE *out, const char *before, const struct wire_list *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"connection\":", value->connection);
  if (value->subject == WIRE_LIST_SUBJECT_ACCESS) {
    print_access_question(out, ",\"question\":", &value->question);
  }
  fprintf(out, ",\"subject\":\"%s\"", list_subject_words[value->subject]);
  fputc('}', out);
}

static void print_bus_entry(FILE *out, const char *before, const struct wire_bus_entry *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"actions\":", value->actions);
  vector_print_text(out, ",\"address\":", value->address);
  vector_print_number(out, ",\"asked\":", value->asked);
  vector_print_number(out, ",\"busy\":", value->busy);
  vector_print_number(out, ",\"connections\":", value->connections);
  vector_print_number(out, ",\"delegates\":", value->delegates);
  vector_print_number(out, ",\"delivered\":", value->delivered);
  vector_print_number(out, ",\"denied\":", value->denied);
  vector_print_number(out, ",\"holds\":", value->holds);
  vector_print_number(out, ",\"iterations\":", value->iterations);
  vector_print_number(out, ",\"kept\":", value->kept);
  vector_print_number(out, ",\"logMax\":", value->log_max);
  vector_print_number(out, ",\"logUsed\":", value->log_used);
  vector_print_number(out, ",\"longest\":", value->longest);
  vector_print_number(out, ",\"lost\":", value->lost);
  vector_print_number(out, ",\"observations\":", value->observations);
  vector_print_number(out, ",\"pid\":", value->pid);
  vector_print_number(out, ",\"posted\":", value->posted);
  vector_print_number(out, ",\"postedBytes\":", value->posted_bytes);
  vector_print_number(out, ",\"queries\":", value->queries);
  vector_print_number(out, ",\"refused\":", value->refused);
  vector_print_text(out, ",\"software\":", value->software);
  vector_print_number(out, ",\"uptime\":", value->uptime);
  vector_print_number(out, ",\"vetoed\":", value->vetoed);
  fputc('}', out);
}

static void print_connection_entry(FILE *out, const char *before, const struct wire_connection_entry *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"age\":", value->age);
  vector_print_number(out, ",\"asked\":", value->asked);
  vector_print_number(out, ",\"buffered\":", value->buffered);
  vector_print_number(out, ",\"coalesced\":", value->coalesced);
  vector_print_number(out, ",\"delegates\":", value->delegates);
  vector_print_number(out, ",\"delivered\":", value->delivered);
  vector_print_number(out, ",\"denied\":", value->denied);
  vector_print_number(out, ",\"id\":", value->id);
  vector_print_number(out, ",\"lossyTime\":", value->lossy_time);
  vector_print_number(out, ",\"lost\":", value->lost);
  vector_print_number(out, ",\"observations\":", value->observations);
  vector_print_number(out, ",\"pausedTime\":", value->paused_time);
  vector_print_number(out, ",\"pauses\":", value->pauses);
  print_peer_identity(out, ",\"peer\":", &value->peer);
  vector_print_number(out, ",\"posted\":", value->posted);
  vector_print_number(out, ",\"postedBytes\":", value->posted_bytes);
  vector_print_number(out, ",\"queries\":", value->queries);
  vector_print_number(out, ",\"queued\":", value->queued);
  vector_print_number(out, ",\"refused\":", value->refused);
  vector_print_number(out, ",\"state\":", value->state);
  fputc('}', out);
}

static void print_departed_entry(FILE *out, const char *before, const struct wire_departed_entry *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"age\":", value->age);
  vector_print_number(out, ",\"elapsed\":", value->elapsed);
  vector_print_number(out, ",\"id\":", value->id);
  vector_print_number(out, ",\"lost\":", value->lost);
  print_peer_identity(out, ",\"peer\":", &value->peer);
  vector_print_number(out, ",\"posted\":", value->posted);
  vector_print_number(out, ",\"reason\":", value->reason);
  fputc('}', out);
}

static void print_account_entry(FILE *out, const char *before, const struct wire_account_entry *value)
{
  fputs(before, out);
  fprintf(out, "{\"isPrivileged\":%s", value->is_privileged ? "true" : "false");
  vector_print_text(out, ",\"resource\":", value->resource);
  vector_print_number(out, ",\"share\":", value->share);
  vector_print_number(out, ",\"total\":", value->total);
  vector_print_number(out, ",\"uid\":", value->uid);
  vector_print_number(out, ",\"used\":", value->used);
  vector_print_number(out, ",\"weight\":", value->weight);
  fputc('}', out);
}

static void print_durations(FILE *out, const char *before, const struct wire_durations *value)
{
  fputs(before, out);
  vector_print_integers(out, "{\"counts\":", value->counts);
  vector_print_number(out, ",\"first\":", value->first);
  vector_print_number(out, ",\"longest\":", value->longest);
  vector_print_number(out, ",\"sum\":", value->sum);
  fputc('}', out);
}

static void print_outcome_counts(FILE *out, const char *before, const struct wire_outcome_counts *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"abstained\":", value->abstained);
  vector_print_number(out, ",\"answered\":", value->answered);
  vector_print_number(out, ",\"approved\":", value->approved);
  vector_print_number(out, ",\"failed\":", value->failed);
  vector_print_number(out, ",\"gone\":", value->gone);
  vector_print_number(out, ",\"held\":", value->held);
  vector_print_number(out, ",\"timedOut\":", value->timed_out);
  vector_print_number(out, ",\"vetoed\":", value->vetoed);
  fputc('}', out);
}

static const char *const participant_state_words[] = {
  [0] = "unasked", [1] = "queued", [2] = "asked", [3] = "settled",
};

static void print_query_participant(FILE *out, const char *before, const struct wire_query_participant *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"connection\":", value->connection);
  print_delegate_identity(out, ",\"delegate\":", &value->delegate);
  vector_print_number(out, ",\"elapsed\":", value->elapsed);
  fprintf(out, ",\"outcome\":\"%s\"", outcome_kind_words[value->outcome]);
  vector_print_text(out, ",\"reason\":", value->reason);
  vector_print_number(out, ",\"remaining\":", value->remaining);
  fprintf(out, ",\"state\":\"%s\"", participant_state_words[value->state]);
  fputc('}', out);
}

static void print_query_entry(FILE *out, const char *before, const struct wire_query_entry *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"age\":", value->age);
  vector_print_number(out, ",\"connection\":", value->connection);
  vector_print_number(out, ",\"id\":", value->id);
  fprintf(out, ",\"isDryRun\":%s", value->is_dry_run ? "true" : "false");
  fprintf(out, ",\"mode\":\"%s\"", query_mode_words[value->mode]);
  vector_print_text(out, ",\"name\":", value->name);
  vector_print_text(out, ",\"object\":", value->object);
  vector_print_number(out, ",\"omittedCount\":", value->omitted_count);
  PRINT_RECORDS(",\"participants\":", value->participants, query_participant);
  print_peer_identity(out, ",\"peer\":", &value->peer);
  vector_print_number(out, ",\"remaining\":", value->remaining);
  fprintf(out, ",\"stage\":\"%s\"", action_stage_words[value->stage]);
  fputc('}', out);
}

static void print_name_entry(FILE *out, const char *before, const struct wire_name_entry *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"asked\":", value->asked);
  vector_print_number(out, ",\"cancelled\":", value->cancelled);
  print_durations(out, ",\"durations\":", &value->durations);
  vector_print_text(out, ",\"name\":", value->name);
  print_outcome_counts(out, ",\"outcomes\":", &value->outcomes);
  vector_print_number(out, ",\"overridden\":", value->overridden);
  vector_print_number(out, ",\"vetoed\":", value->vetoed);
  fputc('}', out);
}

static const char *const participant_role_words[] = {
  [0] = "delegate", [1] = "observer",
};

static void print_participant_entry(FILE *out, const char *before, const struct wire_participant_entry *value)
{
  fputs(before, out);
  print_durations(out, "{\"durations\":", &value->durations);
  vector_print_text(out, ",\"label\":", value->label);
  print_outcome_counts(out, ",\"outcomes\":", &value->outcomes);
  fprintf(out, ",\"role\":\"%s\"", participant_role_words[value->role]);
  vector_print_number(out, ",\"uid\":", value->uid);
  vector_print_text(out, ",\"unit\":", value->unit);
  fputc('}', out);
}

static void print_user_entry(FILE *out, const char *before, const struct wire_user_entry *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"asked\":", value->asked);
  vector_print_number(out, ",\"connections\":", value->connections);
  vector_print_number(out, ",\"delivered\":", value->delivered);
  vector_print_number(out, ",\"denied\":", value->denied);
  vector_print_number(out, ",\"lost\":", value->lost);
  vector_print_number(out, ",\"posted\":", value->posted);
  vector_print_number(out, ",\"postedBytes\":", value->posted_bytes);
  vector_print_number(out, ",\"refused\":", value->refused);
  vector_print_number(out, ",\"uid\":", value->uid);
  vector_print_text(out, ",\"unit\":", value->unit);
  fputc('}', out);
}

static void print_past_verdict(FILE *out, const char *before, const struct wire_past_verdict *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"age\":", value->age);
  vector_print_number(out, ",\"connection\":", value->connection);
  vector_print_texts(out, ",\"fields\":", value->fields);
  vector_print_number(out, ",\"number\":", value->number);
  fputc('}', out);
}

static void print_observation_entry(FILE *out, const char *before, const struct wire_observation_entry *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"connection\":", value->connection);
  fprintf(out, ",\"isAwaited\":%s", value->is_awaited ? "true" : "false");
  vector_print_text(out, ",\"object\":", value->object);
  vector_print_text(out, ",\"pattern\":", value->pattern);
  fprintf(out, ",\"suspension\":\"%s\"", suspension_behavior_words[value->suspension]);
  fputc('}', out);
}

static void print_delegate_entry(FILE *out, const char *before, const struct wire_delegate_entry *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"connection\":", value->connection);
  print_delegate_identity(out, ",\"delegate\":", &value->delegate);
  fprintf(out, ",\"failurePolicy\":\"%s\"", failure_policy_words[value->failure_policy]);
  vector_print_text(out, ",\"object\":", value->object);
  fprintf(out, ",\"order\":%" PRId32, value->order);
  vector_print_texts(out, ",\"patterns\":", value->patterns);
  vector_print_number(out, ",\"timeout\":", value->timeout);
  fputc('}', out);
}

static void print_hold_entry(FILE *out, const char *before, const struct wire_hold_entry *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"age\":", value->age);
  vector_print_number(out, ",\"connection\":", value->connection);
  print_delegate_identity(out, ",\"delegate\":", &value->delegate);
  vector_print_text(out, ",\"object\":", value->object);
  vector_print_text(out, ",\"pattern\":", value->pattern);
  vector_print_number(out, ",\"remaining\":", value->remaining);
  vector_print_text(out, ",\"why\":", value->why);
  fputc('}', out);
}

static void print_missing_entry(FILE *out, const char *before, const struct wire_missing_entry *value)
{
  fputs(before, out);
  vector_print_text(out, "{\"name\":", value->name);
  fputc('}', out);
}

static void print_retained_entry(FILE *out, const char *before, const struct wire_retained_entry *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"age\":", value->age);
  vector_print_number(out, ",\"connection\":", value->connection);
  vector_print_number(out, ",\"length\":", value->length);
  vector_print_text(out, ",\"name\":", value->name);
  vector_print_text(out, ",\"object\":", value->object);
  vector_print_number(out, ",\"uid\":", value->uid);
  fputc('}', out);
}

static void print_ending_entry(FILE *out, const char *before, const struct wire_ending_entry *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"connection\":", value->connection);
  print_peer_identity(out, ",\"peer\":", &value->peer);
  vector_print_text(out, ",\"why\":", value->why);
  fputc('}', out);
}

static void print_object_entry(FILE *out, const char *before, const struct wire_object_entry *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"connection\":", value->connection);
  vector_print_number(out, ",\"delegates\":", value->delegates);
  vector_print_text(out, ",\"object\":", value->object);
  vector_print_text(out, ",\"protocolName\":", value->protocol_name);
  fputc('}', out);
}

static void print_protocol_entry(FILE *out, const char *before, const struct wire_protocol_entry *value)
{
  fputs(before, out);
  vector_print_number(out, "{\"connection\":", value->connection);
  vector_print_text(out, ",\"documentation\":", value->documentation);
  vector_print_number(out, ",\"members\":", value->members);
  vector_print_text(out, ",\"name\":", value->name);
  vector_print_texts(out, ",\"parents\":", value->parents);
  fputc('}', out);
}

static const char *const method_kind_words[] = {
  [0] = "should", [1] = "will", [2] = "did", [3] = "value",
};

static void print_member_entry(FILE *out, const char *before, const struct wire_member_entry *value)
{
  fputs(before, out);
  vector_print_text(out, "{\"documentation\":", value->documentation);
  fprintf(out, ",\"isRequired\":%s", value->is_required ? "true" : "false");
  fprintf(out, ",\"kind\":\"%s\"", method_kind_words[value->kind]);
  vector_print_text(out, ",\"name\":", value->name);
  vector_print_text(out, ",\"origin\":", value->origin);
  vector_print_text(out, ",\"parameters\":", value->parameters);
  vector_print_text(out, ",\"result\":", value->result);
  fputc('}', out);
}

static void print_entry(FILE *out, const char *before, const struct wire_entry *value)
{
  fputs(before, out);
  switch (value->what) {
  case WIRE_ENTRY_WHAT_BUS:
    print_bus_entry(out, "{\"bus\":", &value->bus);
    break;
  case WIRE_ENTRY_WHAT_CONNECTION:
    print_connection_entry(out, "{\"connection\":", &value->connection);
    break;
  case WIRE_ENTRY_WHAT_OBSERVATION:
    print_observation_entry(out, "{\"observation\":", &value->observation);
    break;
  case WIRE_ENTRY_WHAT_DELEGATE:
    print_delegate_entry(out, "{\"delegate\":", &value->delegate);
    break;
  case WIRE_ENTRY_WHAT_HOLD:
    print_hold_entry(out, "{\"hold\":", &value->hold);
    break;
  case WIRE_ENTRY_WHAT_MISSING:
    print_missing_entry(out, "{\"missing\":", &value->missing);
    break;
  case WIRE_ENTRY_WHAT_OBJECT:
    print_object_entry(out, "{\"object\":", &value->object);
    break;
  case WIRE_ENTRY_WHAT_PROTOCOL:
    print_protocol_entry(out, "{\"protocol\":", &value->protocol);
    break;
  case WIRE_ENTRY_WHAT_MEMBER:
    print_member_entry(out, "{\"member\":", &value->member);
    break;
  case WIRE_ENTRY_WHAT_RETAINED:
    print_retained_entry(out, "{\"retained\":", &value->retained);
    break;
  case WIRE_ENTRY_WHAT_ACCESS:
    print_access_entry(out, "{\"access\":", &value->access);
    break;
  case WIRE_ENTRY_WHAT_NEAR_MISS:
    print_near_miss_entry(out, "{\"nearMiss\":", &value->near_miss);
    break;
  case WIRE_ENTRY_WHAT_ENDING:
    print_ending_entry(out, "{\"ending\":", &value->ending);
    break;
  case WIRE_ENTRY_WHAT_DEPARTED:
    print_departed_entry(out, "{\"departed\":", &value->departed);
    break;
  case WIRE_ENTRY_WHAT_ACCOUNT:
    print_account_entry(out, "{\"account\":", &value->account);
    break;
  case WIRE_ENTRY_WHAT_QUERY:
    print_query_entry(out, "{\"query\":", &value->query);
    break;
  case WIRE_ENTRY_WHAT_NAME:
    print_name_entry(out, "{\"name\":", &value->name);
    break;
  case WIRE_ENTRY_WHAT_PARTICIPANT:
    print_participant_entry(out, "{\"participant\":", &value->participant);
    break;
  case WIRE_ENTRY_WHAT_USER:
    print_user_entry(out, "{\"user\":", &value->user);
    break;
  case WIRE_ENTRY_WHAT_VERDICT:
    print_past_verdict(out, "{\"verdict\":", &value->verdict);
    break;
  }
  fputc('}', out);
}

static void print_ended(FILE *out, const char *before, const struct wire_ended *value)
{
  fputs(before, out);
  switch (value->what) {
  case WIRE_ENDED_WHAT_REPLACED:
    print_delegate_entry(out, "{\"replaced\":", &value->replaced);
    break;
  case WIRE_ENDED_WHAT_EXPIRED:
    fputs("{\"expired\":null", out);
    break;
  case WIRE_ENDED_WHAT_NOT_PERMITTED:
    vector_print_text(out, "{\"notPermitted\":", value->not_permitted);
    break;
  }
  fputc('}', out);
}

const char *const vector_kind_words[256] = {
  [1] = "welcome", [2] = "error", [3] = "ok", [4] = "post", [5] = "lost", [6] = "observe", [7] = "attach", [8] = "ask", [9] = "question",
  [10] = "answer", [11] = "defer", [12] = "progress", [13] = "verdict", [14] = "concluded", [15] = "cancel", [16] = "list",
  [17] = "entry", [18] = "monitor", [19] = "traffic", [20] = "hold", [21] = "ended", [22] = "declare", [23] = "suspend",
  [24] = "retained", [25] = "done", [26] = "awaited", [27] = "succeed", [28] = "amend", [29] = "poster", [30] = "room", [31] = "pace",
  [32] = "begin", [33] = "late",
};

bool vector_handle_fields(uint8_t kind, struct wire_reader *reader, FILE *out, struct wire_writer *writer)
{
  switch (kind) {
  HANDLE_FIELDS(WELCOME, welcome)
  HANDLE_FIELDS(ERROR, refusal)
  HANDLE_FIELDS(OK, okay)
  HANDLE_FIELDS(POST, post)
  HANDLE_FIELDS(LOST, lost)
  HANDLE_FIELDS(OBSERVE, observe)
  HANDLE_FIELDS(ATTACH, attach)
  HANDLE_FIELDS(ASK, ask)
  HANDLE_FIELDS(QUESTION, question)
  HANDLE_FIELDS(ANSWER, answer)
  HANDLE_FIELDS(DEFER, defer)
  HANDLE_FIELDS(PROGRESS, progress)
  HANDLE_FIELDS(VERDICT, verdict)
  HANDLE_FIELDS(CONCLUDED, concluded)
  HANDLE_FIELDS(CANCEL, cancel)
  HANDLE_FIELDS(LIST, list)
  HANDLE_FIELDS(ENTRY, entry)
  HANDLE_FIELDS(MONITOR, monitor)
  HANDLE_FIELDS(TRAFFIC, traffic)
  HANDLE_FIELDS(HOLD, hold)
  HANDLE_FIELDS(ENDED, ended)
  HANDLE_FIELDS(DECLARE, declare)
  HANDLE_FIELDS(SUSPEND, suspend)
  HANDLE_FIELDS(RETAINED, retained)
  HANDLE_FIELDS(DONE, done)
  HANDLE_FIELDS(AWAITED, awaited)
  HANDLE_FIELDS(SUCCEED, succeed)
  HANDLE_FIELDS(AMEND, amend)
  HANDLE_FIELDS(POSTER, poster_facts)
  HANDLE_FIELDS(ROOM, room)
  HANDLE_FIELDS(PACE, pace)
  HANDLE_FIELDS(BEGIN, begin)
  HANDLE_FIELDS(LATE, late)
  default:
    return false;
  }
}
