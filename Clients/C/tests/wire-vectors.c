/* SPDX-License-Identifier: Apache-2.0
 *
 * Made by "make wire" from docs/tribune.wire. Change that instead.
 *
 * Prints fields as index.json of the wire's vectors has them, and writes them again. */

#include "vectors.h"

static void print_peer_identity(FILE *out, const struct wire_peer_identity *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"gid\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->gid);
  fprintf(out, "%s\"pid\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->pid);
  fprintf(out, "%s\"process\":", comma);
  comma = ",";
  vector_print_text(out, value->process.data, value->process.length);
  fprintf(out, "%s\"uid\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->uid);
  fprintf(out, "%s\"units\":", comma);
  comma = ",";
  vector_print_text(out, value->units.data, value->units.length);
  (void)comma;
  fputc('}', out);
}

static void print_delegate_identity(FILE *out, const struct wire_delegate_identity *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"id\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->id);
  fprintf(out, "%s\"label\":", comma);
  comma = ",";
  vector_print_text(out, value->label.data, value->label.length);
  fprintf(out, "%s\"peer\":", comma);
  comma = ",";
  print_peer_identity(out, &value->peer);
  (void)comma;
  fputc('}', out);
}

static void print_welcome(FILE *out, const struct wire_welcome *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"busPID\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->bus_pid);
  fprintf(out, "%s\"connection\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connection);
  fprintf(out, "%s\"deadlineDefault\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->deadline_default);
  fprintf(out, "%s\"deadlineMax\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->deadline_max);
  fprintf(out, "%s\"delegatesMax\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->delegates_max);
  fprintf(out, "%s\"observationsMax\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->observations_max);
  fprintf(out, "%s\"payloadMax\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->payload_max);
  fprintf(out, "%s\"queriesMax\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->queries_max);
  fprintf(out, "%s\"software\":", comma);
  comma = ",";
  vector_print_text(out, value->software.data, value->software.length);
  (void)comma;
  fputc('}', out);
}

static void print_refusal(FILE *out, const struct wire_refusal *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"code\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->code);
  (void)comma;
  fputc('}', out);
}

static void print_okay(FILE *out, const struct wire_okay *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"delegate\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->delegate);
  fprintf(out, "%s\"registration\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->registration);
  fprintf(out, "%s\"retained\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->retained);
  (void)comma;
  fputc('}', out);
}

static void print_cancel(FILE *out, const struct wire_cancel *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"target\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->target);
  (void)comma;
  fputc('}', out);
}

static void print_succeed(FILE *out, const struct wire_succeed *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"predecessor\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->predecessor);
  fprintf(out, "%s\"received\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->received);
  (void)comma;
  fputc('}', out);
}

static void print_posting_style(FILE *out, enum wire_posting_style value)
{
  switch (value) {
  case WIRE_POSTING_STYLE_NOW:
    fputs("\"now\"", out);
    break;
  case WIRE_POSTING_STYLE_AS_SOON_AS_POSSIBLE:
    fputs("\"asSoonAsPossible\"", out);
    break;
  case WIRE_POSTING_STYLE_WHEN_IDLE:
    fputs("\"whenIdle\"", out);
    break;
  }
}

static void print_post(FILE *out, const struct wire_post *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"deadline\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->deadline);
  fprintf(out, "%s\"length\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->length);
  fprintf(out, "%s\"options\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->options);
  fprintf(out, "%s\"style\":", comma);
  comma = ",";
  print_posting_style(out, value->style);
  (void)comma;
  fputc('}', out);
}

static void print_lost(FILE *out, const struct wire_lost *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"count\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->count);
  (void)comma;
  fputc('}', out);
}

static void print_suspension_behavior(FILE *out, enum wire_suspension_behavior value)
{
  switch (value) {
  case WIRE_SUSPENSION_BEHAVIOR_COALESCE:
    fputs("\"coalesce\"", out);
    break;
  case WIRE_SUSPENSION_BEHAVIOR_DROP:
    fputs("\"drop\"", out);
    break;
  case WIRE_SUSPENSION_BEHAVIOR_HOLD:
    fputs("\"hold\"", out);
    break;
  case WIRE_SUSPENSION_BEHAVIOR_DELIVER_IMMEDIATELY:
    fputs("\"deliverImmediately\"", out);
    break;
  }
}

static void print_observe(FILE *out, const struct wire_observe *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"options\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->options);
  fprintf(out, "%s\"suspension\":", comma);
  comma = ",";
  print_suspension_behavior(out, value->suspension);
  (void)comma;
  fputc('}', out);
}

static void print_room(FILE *out, const struct wire_room *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"limit\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->limit);
  (void)comma;
  fputc('}', out);
}

static void print_pace(FILE *out, const struct wire_pace *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"limit\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->limit);
  (void)comma;
  fputc('}', out);
}

static void print_suspend(FILE *out, const struct wire_suspend *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"isSuspended\":", comma);
  comma = ",";
  fputs(value->is_suspended ? "true" : "false", out);
  (void)comma;
  fputc('}', out);
}

static void print_retained(FILE *out, const struct wire_retained *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"age\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->age);
  fprintf(out, "%s\"length\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->length);
  (void)comma;
  fputc('}', out);
}

static void print_done(FILE *out, const struct wire_done *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"hasFailed\":", comma);
  comma = ",";
  fputs(value->has_failed ? "true" : "false", out);
  fprintf(out, "%s\"post\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->post);
  fprintf(out, "%s\"poster\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->poster);
  (void)comma;
  fputc('}', out);
}

static void print_observer_failure(FILE *out, enum wire_observer_failure value)
{
  switch (value) {
  case WIRE_OBSERVER_FAILURE_TIMED_OUT:
    fputs("\"timedOut\"", out);
    break;
  case WIRE_OBSERVER_FAILURE_GONE:
    fputs("\"gone\"", out);
    break;
  case WIRE_OBSERVER_FAILURE_FAILED:
    fputs("\"failed\"", out);
    break;
  }
}

static void print_missing_observer(FILE *out, const struct wire_missing_observer *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"connection\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connection);
  fprintf(out, "%s\"elapsed\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->elapsed);
  fprintf(out, "%s\"failure\":", comma);
  comma = ",";
  print_observer_failure(out, value->failure);
  fprintf(out, "%s\"peer\":", comma);
  comma = ",";
  print_peer_identity(out, &value->peer);
  fprintf(out, "%s\"reason\":", comma);
  comma = ",";
  vector_print_text(out, value->reason.data, value->reason.length);
  (void)comma;
  fputc('}', out);
}

static void print_awaited(FILE *out, const struct wire_awaited *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"acknowledged\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->acknowledged);
  fprintf(out, "%s\"missing\":", comma);
  comma = ",";
  struct wire_elements rest = value->missing;
  struct wire_missing_observer record;
  fputc('[', out);
  for (const char *mark = ""; wire_next_missing_observer(&rest, &record); mark = ",") {
    fputs(mark, out);
    print_missing_observer(out, &record);
  }
  fputc(']', out);
  (void)comma;
  fputc('}', out);
}

static void print_poster_facts(FILE *out, const struct wire_poster_facts *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"connection\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connection);
  fprintf(out, "%s\"peer\":", comma);
  comma = ",";
  print_peer_identity(out, &value->peer);
  fprintf(out, "%s\"slot\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->slot);
  (void)comma;
  fputc('}', out);
}

static void print_monitor(FILE *out, const struct wire_monitor *value)
{
  (void)value;
  fputc('{', out);
  fputc('}', out);
}

static void print_traffic(FILE *out, const struct wire_traffic *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"from\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->from);
  fprintf(out, "%s\"receivers\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->receivers);
  fprintf(out, "%s\"time\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->time);
  fprintf(out, "%s\"to\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->to);
  (void)comma;
  fputc('}', out);
}

static void print_failure_policy(FILE *out, enum wire_failure_policy value)
{
  switch (value) {
  case WIRE_FAILURE_POLICY_VETO:
    fputs("\"veto\"", out);
    break;
  case WIRE_FAILURE_POLICY_ABSTAIN:
    fputs("\"abstain\"", out);
    break;
  }
}

static void print_attach(FILE *out, const struct wire_attach *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"failurePolicy\":", comma);
  comma = ",";
  print_failure_policy(out, value->failure_policy);
  fprintf(out, "%s\"isSet\":", comma);
  comma = ",";
  fputs(value->is_set ? "true" : "false", out);
  fprintf(out, "%s\"label\":", comma);
  comma = ",";
  vector_print_text(out, value->label.data, value->label.length);
  fprintf(out, "%s\"order\":", comma);
  comma = ",";
  fprintf(out, "%" PRId32, value->order);
  fprintf(out, "%s\"patterns\":", comma);
  comma = ",";
  vector_print_texts(out, value->patterns);
  fprintf(out, "%s\"protocols\":", comma);
  comma = ",";
  vector_print_texts(out, value->protocols);
  fprintf(out, "%s\"timeout\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->timeout);
  (void)comma;
  fputc('}', out);
}

static void print_hold(FILE *out, const struct wire_hold *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"expiry\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->expiry);
  fprintf(out, "%s\"holder\":", comma);
  comma = ",";
  if (value->has_holder) {
    print_peer_identity(out, &value->holder);
  } else {
    fputs("null", out);
  }
  fprintf(out, "%s\"isLast\":", comma);
  comma = ",";
  fputs(value->is_last ? "true" : "false", out);
  fprintf(out, "%s\"label\":", comma);
  comma = ",";
  vector_print_text(out, value->label.data, value->label.length);
  (void)comma;
  fputc('}', out);
}

static void print_amend(FILE *out, const struct wire_amend *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"target\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->target);
  (void)comma;
  fputc('}', out);
}

static void print_declare(FILE *out, const struct wire_declare *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"protocolName\":", comma);
  comma = ",";
  vector_print_text(out, value->protocol_name.data, value->protocol_name.length);
  (void)comma;
  fputc('}', out);
}

static void print_query_mode(FILE *out, enum wire_query_mode value)
{
  switch (value) {
  case WIRE_QUERY_MODE_PARALLEL:
    fputs("\"parallel\"", out);
    break;
  case WIRE_QUERY_MODE_ALL:
    fputs("\"all\"", out);
    break;
  case WIRE_QUERY_MODE_ORDER:
    fputs("\"order\"", out);
    break;
  case WIRE_QUERY_MODE_FIRST:
    fputs("\"first\"", out);
    break;
  case WIRE_QUERY_MODE_COLLECT:
    fputs("\"collect\"", out);
    break;
  }
}

static void print_verdict_kind(FILE *out, enum wire_verdict_kind value)
{
  switch (value) {
  case WIRE_VERDICT_KIND_ALLOWED:
    fputs("\"allowed\"", out);
    break;
  case WIRE_VERDICT_KIND_VETOED:
    fputs("\"vetoed\"", out);
    break;
  }
}

static void print_ask(FILE *out, const struct wire_ask *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"deadline\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->deadline);
  fprintf(out, "%s\"fallback\":", comma);
  comma = ",";
  print_verdict_kind(out, value->fallback);
  fprintf(out, "%s\"flags\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->flags);
  fprintf(out, "%s\"mode\":", comma);
  comma = ",";
  print_query_mode(out, value->mode);
  fprintf(out, "%s\"overrideReason\":", comma);
  comma = ",";
  vector_print_text(out, value->override_reason.data, value->override_reason.length);
  fprintf(out, "%s\"parent\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->parent);
  (void)comma;
  fputc('}', out);
}

static void print_question(FILE *out, const struct wire_question *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"asker\":", comma);
  comma = ",";
  print_peer_identity(out, &value->asker);
  fprintf(out, "%s\"delegate\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->delegate);
  fprintf(out, "%s\"isDryRun\":", comma);
  comma = ",";
  fputs(value->is_dry_run ? "true" : "false", out);
  fprintf(out, "%s\"query\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->query);
  fprintf(out, "%s\"timeout\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->timeout);
  fprintf(out, "%s\"wantsValue\":", comma);
  comma = ",";
  fputs(value->wants_value ? "true" : "false", out);
  (void)comma;
  fputc('}', out);
}

static void print_answer_kind(FILE *out, enum wire_answer_kind value)
{
  switch (value) {
  case WIRE_ANSWER_KIND_APPROVE:
    fputs("\"approve\"", out);
    break;
  case WIRE_ANSWER_KIND_VETO:
    fputs("\"veto\"", out);
    break;
  case WIRE_ANSWER_KIND_ABSTAIN:
    fputs("\"abstain\"", out);
    break;
  case WIRE_ANSWER_KIND_FAILED:
    fputs("\"failed\"", out);
    break;
  case WIRE_ANSWER_KIND_VALUE:
    fputs("\"value\"", out);
    break;
  }
}

static void print_answer(FILE *out, const struct wire_answer *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"answer\":", comma);
  comma = ",";
  print_answer_kind(out, value->answer);
  fprintf(out, "%s\"delegate\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->delegate);
  fprintf(out, "%s\"query\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->query);
  (void)comma;
  fputc('}', out);
}

static void print_defer(FILE *out, const struct wire_defer *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"delegate\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->delegate);
  fprintf(out, "%s\"extension\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->extension);
  fprintf(out, "%s\"query\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->query);
  (void)comma;
  fputc('}', out);
}

static void print_progress_stage(FILE *out, enum wire_progress_stage value)
{
  switch (value) {
  case WIRE_PROGRESS_STAGE_DEFERRED:
    fputs("\"deferred\"", out);
    break;
  case WIRE_PROGRESS_STAGE_ASKED:
    fputs("\"asked\"", out);
    break;
  case WIRE_PROGRESS_STAGE_SETTLED:
    fputs("\"settled\"", out);
    break;
  }
}

static void print_outcome_kind(FILE *out, enum wire_outcome_kind value)
{
  switch (value) {
  case WIRE_OUTCOME_KIND_APPROVED:
    fputs("\"approved\"", out);
    break;
  case WIRE_OUTCOME_KIND_VETOED:
    fputs("\"vetoed\"", out);
    break;
  case WIRE_OUTCOME_KIND_ABSTAINED:
    fputs("\"abstained\"", out);
    break;
  case WIRE_OUTCOME_KIND_TIMED_OUT:
    fputs("\"timedOut\"", out);
    break;
  case WIRE_OUTCOME_KIND_GONE:
    fputs("\"gone\"", out);
    break;
  case WIRE_OUTCOME_KIND_FAILED:
    fputs("\"failed\"", out);
    break;
  case WIRE_OUTCOME_KIND_HELD:
    fputs("\"held\"", out);
    break;
  case WIRE_OUTCOME_KIND_ANSWERED:
    fputs("\"answered\"", out);
    break;
  }
}

static void print_progress(FILE *out, const struct wire_progress *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"delegate\":", comma);
  comma = ",";
  print_delegate_identity(out, &value->delegate);
  fprintf(out, "%s\"outcome\":", comma);
  comma = ",";
  print_outcome_kind(out, value->outcome);
  fprintf(out, "%s\"query\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->query);
  fprintf(out, "%s\"stage\":", comma);
  comma = ",";
  print_progress_stage(out, value->stage);
  fprintf(out, "%s\"timeout\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->timeout);
  (void)comma;
  fputc('}', out);
}

static void print_outcome(FILE *out, const struct wire_outcome *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"delegate\":", comma);
  comma = ",";
  print_delegate_identity(out, &value->delegate);
  fprintf(out, "%s\"elapsed\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->elapsed);
  fprintf(out, "%s\"outcome\":", comma);
  comma = ",";
  print_outcome_kind(out, value->outcome);
  fprintf(out, "%s\"reason\":", comma);
  comma = ",";
  vector_print_text(out, value->reason.data, value->reason.length);
  fprintf(out, "%s\"value\":", comma);
  comma = ",";
  vector_print_hexadecimal(out, value->value.data, value->value.length);
  (void)comma;
  fputc('}', out);
}

static void print_verdict(FILE *out, const struct wire_verdict *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"isDryRun\":", comma);
  comma = ",";
  fputs(value->is_dry_run ? "true" : "false", out);
  fprintf(out, "%s\"isOverridden\":", comma);
  comma = ",";
  fputs(value->is_overridden ? "true" : "false", out);
  fprintf(out, "%s\"isUnanswered\":", comma);
  comma = ",";
  fputs(value->is_unanswered ? "true" : "false", out);
  fprintf(out, "%s\"omittedCount\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->omitted_count);
  fprintf(out, "%s\"outcomes\":", comma);
  comma = ",";
  struct wire_elements rest = value->outcomes;
  struct wire_outcome record;
  fputc('[', out);
  for (const char *mark = ""; wire_next_outcome(&rest, &record); mark = ",") {
    fputs(mark, out);
    print_outcome(out, &record);
  }
  fputc(']', out);
  fprintf(out, "%s\"query\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->query);
  fprintf(out, "%s\"similarName\":", comma);
  comma = ",";
  vector_print_text(out, value->similar_name.data, value->similar_name.length);
  fprintf(out, "%s\"verdict\":", comma);
  comma = ",";
  print_verdict_kind(out, value->verdict);
  (void)comma;
  fputc('}', out);
}

static void print_conclusion_kind(FILE *out, enum wire_conclusion_kind value)
{
  switch (value) {
  case WIRE_CONCLUSION_KIND_ALLOWED:
    fputs("\"allowed\"", out);
    break;
  case WIRE_CONCLUSION_KIND_VETOED:
    fputs("\"vetoed\"", out);
    break;
  case WIRE_CONCLUSION_KIND_CANCELLED:
    fputs("\"cancelled\"", out);
    break;
  }
}

static void print_concluded(FILE *out, const struct wire_concluded *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"conclusion\":", comma);
  comma = ",";
  print_conclusion_kind(out, value->conclusion);
  fprintf(out, "%s\"delegate\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->delegate);
  fprintf(out, "%s\"query\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->query);
  (void)comma;
  fputc('}', out);
}

static void print_access_subject(FILE *out, const struct wire_access_subject *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"groups\":", comma);
  comma = ",";
  vector_print_integers(out, value->groups);
  fprintf(out, "%s\"uid\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->uid);
  fprintf(out, "%s\"unit\":", comma);
  comma = ",";
  vector_print_text(out, value->unit.data, value->unit.length);
  (void)comma;
  fputc('}', out);
}

static void print_access_question(FILE *out, const struct wire_access_question *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"action\":", comma);
  comma = ",";
  vector_print_text(out, value->action.data, value->action.length);
  fprintf(out, "%s\"subject\":", comma);
  comma = ",";
  if (value->has_subject) {
    print_access_subject(out, &value->subject);
  } else {
    fputs("null", out);
  }
  (void)comma;
  fputc('}', out);
}

static void print_access_line(FILE *out, const struct wire_access_line *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"file\":", comma);
  comma = ",";
  vector_print_text(out, value->file.data, value->file.length);
  fprintf(out, "%s\"number\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->number);
  fprintf(out, "%s\"text\":", comma);
  comma = ",";
  vector_print_text(out, value->text.data, value->text.length);
  (void)comma;
  fputc('}', out);
}

static void print_access_decision(FILE *out, enum wire_access_decision value)
{
  switch (value) {
  case WIRE_ACCESS_DECISION_ALLOWED:
    fputs("\"allowed\"", out);
    break;
  case WIRE_ACCESS_DECISION_DENIED:
    fputs("\"denied\"", out);
    break;
  case WIRE_ACCESS_DECISION_NOT_ALLOWED:
    fputs("\"notAllowed\"", out);
    break;
  case WIRE_ACCESS_DECISION_EXEMPT:
    fputs("\"exempt\"", out);
    break;
  }
}

static void print_access_entry(FILE *out, const struct wire_access_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"decision\":", comma);
  comma = ",";
  print_access_decision(out, value->decision);
  fprintf(out, "%s\"line\":", comma);
  comma = ",";
  print_access_line(out, &value->line);
  fprintf(out, "%s\"subject\":", comma);
  comma = ",";
  print_access_subject(out, &value->subject);
  (void)comma;
  fputc('}', out);
}

static void print_near_miss_entry(FILE *out, const struct wire_near_miss_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"lacks\":", comma);
  comma = ",";
  vector_print_text(out, value->lacks.data, value->lacks.length);
  fprintf(out, "%s\"line\":", comma);
  comma = ",";
  print_access_line(out, &value->line);
  (void)comma;
  fputc('}', out);
}

static void print_list_subject(FILE *out, enum wire_list_subject value)
{
  switch (value) {
  case WIRE_LIST_SUBJECT_BUS:
    fputs("\"bus\"", out);
    break;
  case WIRE_LIST_SUBJECT_CONNECTIONS:
    fputs("\"connections\"", out);
    break;
  case WIRE_LIST_SUBJECT_OBSERVATIONS:
    fputs("\"observations\"", out);
    break;
  case WIRE_LIST_SUBJECT_DELEGATES:
    fputs("\"delegates\"", out);
    break;
  case WIRE_LIST_SUBJECT_CHAIN:
    fputs("\"chain\"", out);
    break;
  case WIRE_LIST_SUBJECT_HOLDS:
    fputs("\"holds\"", out);
    break;
  case WIRE_LIST_SUBJECT_OBJECTS:
    fputs("\"objects\"", out);
    break;
  case WIRE_LIST_SUBJECT_PROTOCOLS:
    fputs("\"protocols\"", out);
    break;
  case WIRE_LIST_SUBJECT_MEMBERS:
    fputs("\"members\"", out);
    break;
  case WIRE_LIST_SUBJECT_RETAINED:
    fputs("\"retained\"", out);
    break;
  case WIRE_LIST_SUBJECT_ACCESS:
    fputs("\"access\"", out);
    break;
  case WIRE_LIST_SUBJECT_ENDINGS:
    fputs("\"endings\"", out);
    break;
  case WIRE_LIST_SUBJECT_DEPARTED:
    fputs("\"departed\"", out);
    break;
  case WIRE_LIST_SUBJECT_ACCOUNTS:
    fputs("\"accounts\"", out);
    break;
  case WIRE_LIST_SUBJECT_QUERIES:
    fputs("\"queries\"", out);
    break;
  case WIRE_LIST_SUBJECT_NAMES:
    fputs("\"names\"", out);
    break;
  case WIRE_LIST_SUBJECT_PARTICIPANTS:
    fputs("\"participants\"", out);
    break;
  case WIRE_LIST_SUBJECT_USERS:
    fputs("\"users\"", out);
    break;
  case WIRE_LIST_SUBJECT_VERDICTS:
    fputs("\"verdicts\"", out);
    break;
  }
}

static void print_list(FILE *out, const struct wire_list *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"connection\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connection);
  if (value->subject == WIRE_LIST_SUBJECT_ACCESS) {
    fprintf(out, "%s\"question\":", comma);
    comma = ",";
    print_access_question(out, &value->question);
  }
  fprintf(out, "%s\"subject\":", comma);
  comma = ",";
  print_list_subject(out, value->subject);
  (void)comma;
  fputc('}', out);
}

static void print_bus_entry(FILE *out, const struct wire_bus_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"address\":", comma);
  comma = ",";
  vector_print_text(out, value->address.data, value->address.length);
  fprintf(out, "%s\"asked\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->asked);
  fprintf(out, "%s\"busy\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->busy);
  fprintf(out, "%s\"connections\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connections);
  fprintf(out, "%s\"delegates\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->delegates);
  fprintf(out, "%s\"delivered\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->delivered);
  fprintf(out, "%s\"denied\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->denied);
  fprintf(out, "%s\"holds\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->holds);
  fprintf(out, "%s\"iterations\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->iterations);
  fprintf(out, "%s\"kept\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->kept);
  fprintf(out, "%s\"logMax\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->log_max);
  fprintf(out, "%s\"logUsed\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->log_used);
  fprintf(out, "%s\"longest\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->longest);
  fprintf(out, "%s\"lost\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->lost);
  fprintf(out, "%s\"observations\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->observations);
  fprintf(out, "%s\"pid\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->pid);
  fprintf(out, "%s\"posted\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->posted);
  fprintf(out, "%s\"postedBytes\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->posted_bytes);
  fprintf(out, "%s\"queries\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->queries);
  fprintf(out, "%s\"refused\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->refused);
  fprintf(out, "%s\"software\":", comma);
  comma = ",";
  vector_print_text(out, value->software.data, value->software.length);
  fprintf(out, "%s\"uptime\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->uptime);
  fprintf(out, "%s\"vetoed\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->vetoed);
  (void)comma;
  fputc('}', out);
}

static void print_connection_entry(FILE *out, const struct wire_connection_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"age\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->age);
  fprintf(out, "%s\"asked\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->asked);
  fprintf(out, "%s\"buffered\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->buffered);
  fprintf(out, "%s\"coalesced\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->coalesced);
  fprintf(out, "%s\"delegates\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->delegates);
  fprintf(out, "%s\"delivered\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->delivered);
  fprintf(out, "%s\"denied\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->denied);
  fprintf(out, "%s\"id\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->id);
  fprintf(out, "%s\"lossyTime\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->lossy_time);
  fprintf(out, "%s\"lost\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->lost);
  fprintf(out, "%s\"observations\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->observations);
  fprintf(out, "%s\"pausedTime\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->paused_time);
  fprintf(out, "%s\"pauses\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->pauses);
  fprintf(out, "%s\"peer\":", comma);
  comma = ",";
  print_peer_identity(out, &value->peer);
  fprintf(out, "%s\"posted\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->posted);
  fprintf(out, "%s\"postedBytes\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->posted_bytes);
  fprintf(out, "%s\"queries\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->queries);
  fprintf(out, "%s\"queued\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->queued);
  fprintf(out, "%s\"refused\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->refused);
  fprintf(out, "%s\"state\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->state);
  (void)comma;
  fputc('}', out);
}

static void print_departed_entry(FILE *out, const struct wire_departed_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"age\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->age);
  fprintf(out, "%s\"elapsed\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->elapsed);
  fprintf(out, "%s\"id\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->id);
  fprintf(out, "%s\"lost\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->lost);
  fprintf(out, "%s\"peer\":", comma);
  comma = ",";
  print_peer_identity(out, &value->peer);
  fprintf(out, "%s\"posted\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->posted);
  fprintf(out, "%s\"reason\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->reason);
  (void)comma;
  fputc('}', out);
}

static void print_account_entry(FILE *out, const struct wire_account_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"isPrivileged\":", comma);
  comma = ",";
  fputs(value->is_privileged ? "true" : "false", out);
  fprintf(out, "%s\"resource\":", comma);
  comma = ",";
  vector_print_text(out, value->resource.data, value->resource.length);
  fprintf(out, "%s\"share\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->share);
  fprintf(out, "%s\"total\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->total);
  fprintf(out, "%s\"uid\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->uid);
  fprintf(out, "%s\"used\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->used);
  fprintf(out, "%s\"weight\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->weight);
  (void)comma;
  fputc('}', out);
}

static void print_durations(FILE *out, const struct wire_durations *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"counts\":", comma);
  comma = ",";
  vector_print_integers(out, value->counts);
  fprintf(out, "%s\"first\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->first);
  fprintf(out, "%s\"longest\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->longest);
  fprintf(out, "%s\"sum\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->sum);
  (void)comma;
  fputc('}', out);
}

static void print_outcome_counts(FILE *out, const struct wire_outcome_counts *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"abstained\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->abstained);
  fprintf(out, "%s\"answered\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->answered);
  fprintf(out, "%s\"approved\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->approved);
  fprintf(out, "%s\"failed\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->failed);
  fprintf(out, "%s\"gone\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->gone);
  fprintf(out, "%s\"held\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->held);
  fprintf(out, "%s\"timedOut\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->timed_out);
  fprintf(out, "%s\"vetoed\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->vetoed);
  (void)comma;
  fputc('}', out);
}

static void print_participant_state(FILE *out, enum wire_participant_state value)
{
  switch (value) {
  case WIRE_PARTICIPANT_STATE_UNASKED:
    fputs("\"unasked\"", out);
    break;
  case WIRE_PARTICIPANT_STATE_QUEUED:
    fputs("\"queued\"", out);
    break;
  case WIRE_PARTICIPANT_STATE_ASKED:
    fputs("\"asked\"", out);
    break;
  case WIRE_PARTICIPANT_STATE_SETTLED:
    fputs("\"settled\"", out);
    break;
  }
}

static void print_query_participant(FILE *out, const struct wire_query_participant *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"connection\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connection);
  fprintf(out, "%s\"delegate\":", comma);
  comma = ",";
  print_delegate_identity(out, &value->delegate);
  fprintf(out, "%s\"elapsed\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->elapsed);
  fprintf(out, "%s\"outcome\":", comma);
  comma = ",";
  print_outcome_kind(out, value->outcome);
  fprintf(out, "%s\"reason\":", comma);
  comma = ",";
  vector_print_text(out, value->reason.data, value->reason.length);
  fprintf(out, "%s\"remaining\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->remaining);
  fprintf(out, "%s\"state\":", comma);
  comma = ",";
  print_participant_state(out, value->state);
  (void)comma;
  fputc('}', out);
}

static void print_query_entry(FILE *out, const struct wire_query_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"age\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->age);
  fprintf(out, "%s\"connection\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connection);
  fprintf(out, "%s\"id\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->id);
  fprintf(out, "%s\"isDryRun\":", comma);
  comma = ",";
  fputs(value->is_dry_run ? "true" : "false", out);
  fprintf(out, "%s\"mode\":", comma);
  comma = ",";
  print_query_mode(out, value->mode);
  fprintf(out, "%s\"name\":", comma);
  comma = ",";
  vector_print_text(out, value->name.data, value->name.length);
  fprintf(out, "%s\"object\":", comma);
  comma = ",";
  vector_print_text(out, value->object.data, value->object.length);
  fprintf(out, "%s\"omittedCount\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->omitted_count);
  fprintf(out, "%s\"participants\":", comma);
  comma = ",";
  struct wire_elements rest = value->participants;
  struct wire_query_participant record;
  fputc('[', out);
  for (const char *mark = ""; wire_next_query_participant(&rest, &record); mark = ",") {
    fputs(mark, out);
    print_query_participant(out, &record);
  }
  fputc(']', out);
  fprintf(out, "%s\"peer\":", comma);
  comma = ",";
  print_peer_identity(out, &value->peer);
  fprintf(out, "%s\"remaining\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->remaining);
  (void)comma;
  fputc('}', out);
}

static void print_name_entry(FILE *out, const struct wire_name_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"asked\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->asked);
  fprintf(out, "%s\"cancelled\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->cancelled);
  fprintf(out, "%s\"durations\":", comma);
  comma = ",";
  print_durations(out, &value->durations);
  fprintf(out, "%s\"name\":", comma);
  comma = ",";
  vector_print_text(out, value->name.data, value->name.length);
  fprintf(out, "%s\"outcomes\":", comma);
  comma = ",";
  print_outcome_counts(out, &value->outcomes);
  fprintf(out, "%s\"overridden\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->overridden);
  fprintf(out, "%s\"vetoed\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->vetoed);
  (void)comma;
  fputc('}', out);
}

static void print_participant_role(FILE *out, enum wire_participant_role value)
{
  switch (value) {
  case WIRE_PARTICIPANT_ROLE_DELEGATE:
    fputs("\"delegate\"", out);
    break;
  case WIRE_PARTICIPANT_ROLE_OBSERVER:
    fputs("\"observer\"", out);
    break;
  }
}

static void print_participant_entry(FILE *out, const struct wire_participant_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"durations\":", comma);
  comma = ",";
  print_durations(out, &value->durations);
  fprintf(out, "%s\"label\":", comma);
  comma = ",";
  vector_print_text(out, value->label.data, value->label.length);
  fprintf(out, "%s\"outcomes\":", comma);
  comma = ",";
  print_outcome_counts(out, &value->outcomes);
  fprintf(out, "%s\"role\":", comma);
  comma = ",";
  print_participant_role(out, value->role);
  fprintf(out, "%s\"uid\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->uid);
  fprintf(out, "%s\"unit\":", comma);
  comma = ",";
  vector_print_text(out, value->unit.data, value->unit.length);
  (void)comma;
  fputc('}', out);
}

static void print_user_entry(FILE *out, const struct wire_user_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"asked\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->asked);
  fprintf(out, "%s\"connections\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connections);
  fprintf(out, "%s\"delivered\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->delivered);
  fprintf(out, "%s\"denied\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->denied);
  fprintf(out, "%s\"lost\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->lost);
  fprintf(out, "%s\"posted\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->posted);
  fprintf(out, "%s\"postedBytes\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->posted_bytes);
  fprintf(out, "%s\"refused\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->refused);
  fprintf(out, "%s\"uid\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->uid);
  fprintf(out, "%s\"unit\":", comma);
  comma = ",";
  vector_print_text(out, value->unit.data, value->unit.length);
  (void)comma;
  fputc('}', out);
}

static void print_past_verdict(FILE *out, const struct wire_past_verdict *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"age\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->age);
  fprintf(out, "%s\"connection\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connection);
  fprintf(out, "%s\"fields\":", comma);
  comma = ",";
  vector_print_texts(out, value->fields);
  fprintf(out, "%s\"number\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->number);
  (void)comma;
  fputc('}', out);
}

static void print_observation_entry(FILE *out, const struct wire_observation_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"connection\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connection);
  fprintf(out, "%s\"isAwaited\":", comma);
  comma = ",";
  fputs(value->is_awaited ? "true" : "false", out);
  fprintf(out, "%s\"object\":", comma);
  comma = ",";
  vector_print_text(out, value->object.data, value->object.length);
  fprintf(out, "%s\"pattern\":", comma);
  comma = ",";
  vector_print_text(out, value->pattern.data, value->pattern.length);
  fprintf(out, "%s\"suspension\":", comma);
  comma = ",";
  print_suspension_behavior(out, value->suspension);
  (void)comma;
  fputc('}', out);
}

static void print_delegate_entry(FILE *out, const struct wire_delegate_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"connection\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connection);
  fprintf(out, "%s\"delegate\":", comma);
  comma = ",";
  print_delegate_identity(out, &value->delegate);
  fprintf(out, "%s\"failurePolicy\":", comma);
  comma = ",";
  print_failure_policy(out, value->failure_policy);
  fprintf(out, "%s\"object\":", comma);
  comma = ",";
  vector_print_text(out, value->object.data, value->object.length);
  fprintf(out, "%s\"order\":", comma);
  comma = ",";
  fprintf(out, "%" PRId32, value->order);
  fprintf(out, "%s\"patterns\":", comma);
  comma = ",";
  vector_print_texts(out, value->patterns);
  fprintf(out, "%s\"timeout\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->timeout);
  (void)comma;
  fputc('}', out);
}

static void print_hold_entry(FILE *out, const struct wire_hold_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"age\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->age);
  fprintf(out, "%s\"connection\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connection);
  fprintf(out, "%s\"delegate\":", comma);
  comma = ",";
  print_delegate_identity(out, &value->delegate);
  fprintf(out, "%s\"object\":", comma);
  comma = ",";
  vector_print_text(out, value->object.data, value->object.length);
  fprintf(out, "%s\"pattern\":", comma);
  comma = ",";
  vector_print_text(out, value->pattern.data, value->pattern.length);
  fprintf(out, "%s\"remaining\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->remaining);
  fprintf(out, "%s\"why\":", comma);
  comma = ",";
  vector_print_text(out, value->why.data, value->why.length);
  (void)comma;
  fputc('}', out);
}

static void print_missing_entry(FILE *out, const struct wire_missing_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"name\":", comma);
  comma = ",";
  vector_print_text(out, value->name.data, value->name.length);
  (void)comma;
  fputc('}', out);
}

static void print_retained_entry(FILE *out, const struct wire_retained_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"age\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->age);
  fprintf(out, "%s\"connection\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connection);
  fprintf(out, "%s\"length\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->length);
  fprintf(out, "%s\"name\":", comma);
  comma = ",";
  vector_print_text(out, value->name.data, value->name.length);
  fprintf(out, "%s\"object\":", comma);
  comma = ",";
  vector_print_text(out, value->object.data, value->object.length);
  fprintf(out, "%s\"uid\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->uid);
  (void)comma;
  fputc('}', out);
}

static void print_ending_entry(FILE *out, const struct wire_ending_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"connection\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connection);
  fprintf(out, "%s\"peer\":", comma);
  comma = ",";
  print_peer_identity(out, &value->peer);
  fprintf(out, "%s\"why\":", comma);
  comma = ",";
  vector_print_text(out, value->why.data, value->why.length);
  (void)comma;
  fputc('}', out);
}

static void print_object_entry(FILE *out, const struct wire_object_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"connection\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connection);
  fprintf(out, "%s\"delegates\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->delegates);
  fprintf(out, "%s\"object\":", comma);
  comma = ",";
  vector_print_text(out, value->object.data, value->object.length);
  fprintf(out, "%s\"protocolName\":", comma);
  comma = ",";
  vector_print_text(out, value->protocol_name.data, value->protocol_name.length);
  (void)comma;
  fputc('}', out);
}

static void print_protocol_entry(FILE *out, const struct wire_protocol_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"connection\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->connection);
  fprintf(out, "%s\"documentation\":", comma);
  comma = ",";
  vector_print_text(out, value->documentation.data, value->documentation.length);
  fprintf(out, "%s\"members\":", comma);
  comma = ",";
  fprintf(out, "%" PRIu64, (uint64_t)value->members);
  fprintf(out, "%s\"name\":", comma);
  comma = ",";
  vector_print_text(out, value->name.data, value->name.length);
  fprintf(out, "%s\"parents\":", comma);
  comma = ",";
  vector_print_texts(out, value->parents);
  (void)comma;
  fputc('}', out);
}

static void print_method_kind(FILE *out, enum wire_method_kind value)
{
  switch (value) {
  case WIRE_METHOD_KIND_SHOULD:
    fputs("\"should\"", out);
    break;
  case WIRE_METHOD_KIND_WILL:
    fputs("\"will\"", out);
    break;
  case WIRE_METHOD_KIND_DID:
    fputs("\"did\"", out);
    break;
  case WIRE_METHOD_KIND_VALUE:
    fputs("\"value\"", out);
    break;
  }
}

static void print_member_entry(FILE *out, const struct wire_member_entry *value)
{
  const char *comma = "";
  fputc('{', out);
  fprintf(out, "%s\"documentation\":", comma);
  comma = ",";
  vector_print_text(out, value->documentation.data, value->documentation.length);
  fprintf(out, "%s\"isRequired\":", comma);
  comma = ",";
  fputs(value->is_required ? "true" : "false", out);
  fprintf(out, "%s\"kind\":", comma);
  comma = ",";
  print_method_kind(out, value->kind);
  fprintf(out, "%s\"name\":", comma);
  comma = ",";
  vector_print_text(out, value->name.data, value->name.length);
  fprintf(out, "%s\"origin\":", comma);
  comma = ",";
  vector_print_text(out, value->origin.data, value->origin.length);
  fprintf(out, "%s\"parameters\":", comma);
  comma = ",";
  vector_print_text(out, value->parameters.data, value->parameters.length);
  fprintf(out, "%s\"result\":", comma);
  comma = ",";
  vector_print_text(out, value->result.data, value->result.length);
  (void)comma;
  fputc('}', out);
}

static void print_entry(FILE *out, const struct wire_entry *value)
{
  switch (value->what) {
  case WIRE_ENTRY_WHAT_BUS:
    fputs("{\"bus\":", out);
    print_bus_entry(out, &value->bus);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_CONNECTION:
    fputs("{\"connection\":", out);
    print_connection_entry(out, &value->connection);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_OBSERVATION:
    fputs("{\"observation\":", out);
    print_observation_entry(out, &value->observation);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_DELEGATE:
    fputs("{\"delegate\":", out);
    print_delegate_entry(out, &value->delegate);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_HOLD:
    fputs("{\"hold\":", out);
    print_hold_entry(out, &value->hold);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_MISSING:
    fputs("{\"missing\":", out);
    print_missing_entry(out, &value->missing);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_OBJECT:
    fputs("{\"object\":", out);
    print_object_entry(out, &value->object);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_PROTOCOL:
    fputs("{\"protocol\":", out);
    print_protocol_entry(out, &value->protocol);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_MEMBER:
    fputs("{\"member\":", out);
    print_member_entry(out, &value->member);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_RETAINED:
    fputs("{\"retained\":", out);
    print_retained_entry(out, &value->retained);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_ACCESS:
    fputs("{\"access\":", out);
    print_access_entry(out, &value->access);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_NEAR_MISS:
    fputs("{\"nearMiss\":", out);
    print_near_miss_entry(out, &value->near_miss);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_ENDING:
    fputs("{\"ending\":", out);
    print_ending_entry(out, &value->ending);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_DEPARTED:
    fputs("{\"departed\":", out);
    print_departed_entry(out, &value->departed);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_ACCOUNT:
    fputs("{\"account\":", out);
    print_account_entry(out, &value->account);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_QUERY:
    fputs("{\"query\":", out);
    print_query_entry(out, &value->query);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_NAME:
    fputs("{\"name\":", out);
    print_name_entry(out, &value->name);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_PARTICIPANT:
    fputs("{\"participant\":", out);
    print_participant_entry(out, &value->participant);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_USER:
    fputs("{\"user\":", out);
    print_user_entry(out, &value->user);
    fputc('}', out);
    break;
  case WIRE_ENTRY_WHAT_VERDICT:
    fputs("{\"verdict\":", out);
    print_past_verdict(out, &value->verdict);
    fputc('}', out);
    break;
  }
}

static void print_ended(FILE *out, const struct wire_ended *value)
{
  switch (value->what) {
  case WIRE_ENDED_WHAT_REPLACED:
    fputs("{\"replaced\":", out);
    print_delegate_entry(out, &value->replaced);
    fputc('}', out);
    break;
  case WIRE_ENDED_WHAT_EXPIRED:
    fputs("{\"expired\":", out);
    fputs("null", out);
    fputc('}', out);
    break;
  case WIRE_ENDED_WHAT_NOT_PERMITTED:
    fputs("{\"notPermitted\":", out);
    vector_print_text(out, value->not_permitted.data, value->not_permitted.length);
    fputc('}', out);
    break;
  }
}

const char *vector_kind_word(uint8_t kind)
{
  switch (kind) {
  case WIRE_KIND_WELCOME:
    return "welcome";
  case WIRE_KIND_ERROR:
    return "error";
  case WIRE_KIND_OK:
    return "ok";
  case WIRE_KIND_POST:
    return "post";
  case WIRE_KIND_LOST:
    return "lost";
  case WIRE_KIND_OBSERVE:
    return "observe";
  case WIRE_KIND_ATTACH:
    return "attach";
  case WIRE_KIND_ASK:
    return "ask";
  case WIRE_KIND_QUESTION:
    return "question";
  case WIRE_KIND_ANSWER:
    return "answer";
  case WIRE_KIND_DEFER:
    return "defer";
  case WIRE_KIND_PROGRESS:
    return "progress";
  case WIRE_KIND_VERDICT:
    return "verdict";
  case WIRE_KIND_CONCLUDED:
    return "concluded";
  case WIRE_KIND_CANCEL:
    return "cancel";
  case WIRE_KIND_LIST:
    return "list";
  case WIRE_KIND_ENTRY:
    return "entry";
  case WIRE_KIND_MONITOR:
    return "monitor";
  case WIRE_KIND_TRAFFIC:
    return "traffic";
  case WIRE_KIND_HOLD:
    return "hold";
  case WIRE_KIND_ENDED:
    return "ended";
  case WIRE_KIND_DECLARE:
    return "declare";
  case WIRE_KIND_SUSPEND:
    return "suspend";
  case WIRE_KIND_RETAINED:
    return "retained";
  case WIRE_KIND_DONE:
    return "done";
  case WIRE_KIND_AWAITED:
    return "awaited";
  case WIRE_KIND_SUCCEED:
    return "succeed";
  case WIRE_KIND_AMEND:
    return "amend";
  case WIRE_KIND_POSTER:
    return "poster";
  case WIRE_KIND_ROOM:
    return "room";
  case WIRE_KIND_PACE:
    return "pace";
  default:
    return "";
  }
}

bool vector_print_fields(FILE *out, uint8_t kind, struct wire_reader *reader)
{
  switch (kind) {
  case WIRE_KIND_WELCOME: {
    struct wire_welcome value;
    wire_read_welcome(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_welcome(out, &value);
    return true;
  }
  case WIRE_KIND_ERROR: {
    struct wire_refusal value;
    wire_read_refusal(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_refusal(out, &value);
    return true;
  }
  case WIRE_KIND_OK: {
    struct wire_okay value;
    wire_read_okay(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_okay(out, &value);
    return true;
  }
  case WIRE_KIND_POST: {
    struct wire_post value;
    wire_read_post(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_post(out, &value);
    return true;
  }
  case WIRE_KIND_LOST: {
    struct wire_lost value;
    wire_read_lost(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_lost(out, &value);
    return true;
  }
  case WIRE_KIND_OBSERVE: {
    struct wire_observe value;
    wire_read_observe(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_observe(out, &value);
    return true;
  }
  case WIRE_KIND_ATTACH: {
    struct wire_attach value;
    wire_read_attach(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_attach(out, &value);
    return true;
  }
  case WIRE_KIND_ASK: {
    struct wire_ask value;
    wire_read_ask(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_ask(out, &value);
    return true;
  }
  case WIRE_KIND_QUESTION: {
    struct wire_question value;
    wire_read_question(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_question(out, &value);
    return true;
  }
  case WIRE_KIND_ANSWER: {
    struct wire_answer value;
    wire_read_answer(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_answer(out, &value);
    return true;
  }
  case WIRE_KIND_DEFER: {
    struct wire_defer value;
    wire_read_defer(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_defer(out, &value);
    return true;
  }
  case WIRE_KIND_PROGRESS: {
    struct wire_progress value;
    wire_read_progress(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_progress(out, &value);
    return true;
  }
  case WIRE_KIND_VERDICT: {
    struct wire_verdict value;
    wire_read_verdict(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_verdict(out, &value);
    return true;
  }
  case WIRE_KIND_CONCLUDED: {
    struct wire_concluded value;
    wire_read_concluded(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_concluded(out, &value);
    return true;
  }
  case WIRE_KIND_CANCEL: {
    struct wire_cancel value;
    wire_read_cancel(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_cancel(out, &value);
    return true;
  }
  case WIRE_KIND_LIST: {
    struct wire_list value;
    wire_read_list(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_list(out, &value);
    return true;
  }
  case WIRE_KIND_ENTRY: {
    struct wire_entry value;
    wire_read_entry(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_entry(out, &value);
    return true;
  }
  case WIRE_KIND_MONITOR: {
    struct wire_monitor value;
    wire_read_monitor(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_monitor(out, &value);
    return true;
  }
  case WIRE_KIND_TRAFFIC: {
    struct wire_traffic value;
    wire_read_traffic(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_traffic(out, &value);
    return true;
  }
  case WIRE_KIND_HOLD: {
    struct wire_hold value;
    wire_read_hold(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_hold(out, &value);
    return true;
  }
  case WIRE_KIND_ENDED: {
    struct wire_ended value;
    wire_read_ended(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_ended(out, &value);
    return true;
  }
  case WIRE_KIND_DECLARE: {
    struct wire_declare value;
    wire_read_declare(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_declare(out, &value);
    return true;
  }
  case WIRE_KIND_SUSPEND: {
    struct wire_suspend value;
    wire_read_suspend(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_suspend(out, &value);
    return true;
  }
  case WIRE_KIND_RETAINED: {
    struct wire_retained value;
    wire_read_retained(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_retained(out, &value);
    return true;
  }
  case WIRE_KIND_DONE: {
    struct wire_done value;
    wire_read_done(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_done(out, &value);
    return true;
  }
  case WIRE_KIND_AWAITED: {
    struct wire_awaited value;
    wire_read_awaited(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_awaited(out, &value);
    return true;
  }
  case WIRE_KIND_SUCCEED: {
    struct wire_succeed value;
    wire_read_succeed(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_succeed(out, &value);
    return true;
  }
  case WIRE_KIND_AMEND: {
    struct wire_amend value;
    wire_read_amend(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_amend(out, &value);
    return true;
  }
  case WIRE_KIND_POSTER: {
    struct wire_poster_facts value;
    wire_read_poster_facts(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_poster_facts(out, &value);
    return true;
  }
  case WIRE_KIND_ROOM: {
    struct wire_room value;
    wire_read_room(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_room(out, &value);
    return true;
  }
  case WIRE_KIND_PACE: {
    struct wire_pace value;
    wire_read_pace(reader, &value);
    if (reader->failed) {
      return false;
    }
    print_pace(out, &value);
    return true;
  }
  default:
    return false;
  }
}

bool vector_copy_fields(uint8_t kind, struct wire_reader *reader, struct wire_writer *writer)
{
  switch (kind) {
  case WIRE_KIND_WELCOME: {
    struct wire_welcome value;
    wire_read_welcome(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_welcome(writer, &value);
    return true;
  }
  case WIRE_KIND_ERROR: {
    struct wire_refusal value;
    wire_read_refusal(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_refusal(writer, &value);
    return true;
  }
  case WIRE_KIND_OK: {
    struct wire_okay value;
    wire_read_okay(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_okay(writer, &value);
    return true;
  }
  case WIRE_KIND_POST: {
    struct wire_post value;
    wire_read_post(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_post(writer, &value);
    return true;
  }
  case WIRE_KIND_LOST: {
    struct wire_lost value;
    wire_read_lost(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_lost(writer, &value);
    return true;
  }
  case WIRE_KIND_OBSERVE: {
    struct wire_observe value;
    wire_read_observe(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_observe(writer, &value);
    return true;
  }
  case WIRE_KIND_ATTACH: {
    struct wire_attach value;
    wire_read_attach(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_attach(writer, &value);
    return true;
  }
  case WIRE_KIND_ASK: {
    struct wire_ask value;
    wire_read_ask(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_ask(writer, &value);
    return true;
  }
  case WIRE_KIND_QUESTION: {
    struct wire_question value;
    wire_read_question(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_question(writer, &value);
    return true;
  }
  case WIRE_KIND_ANSWER: {
    struct wire_answer value;
    wire_read_answer(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_answer(writer, &value);
    return true;
  }
  case WIRE_KIND_DEFER: {
    struct wire_defer value;
    wire_read_defer(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_defer(writer, &value);
    return true;
  }
  case WIRE_KIND_PROGRESS: {
    struct wire_progress value;
    wire_read_progress(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_progress(writer, &value);
    return true;
  }
  case WIRE_KIND_VERDICT: {
    struct wire_verdict value;
    wire_read_verdict(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_verdict(writer, &value);
    return true;
  }
  case WIRE_KIND_CONCLUDED: {
    struct wire_concluded value;
    wire_read_concluded(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_concluded(writer, &value);
    return true;
  }
  case WIRE_KIND_CANCEL: {
    struct wire_cancel value;
    wire_read_cancel(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_cancel(writer, &value);
    return true;
  }
  case WIRE_KIND_LIST: {
    struct wire_list value;
    wire_read_list(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_list(writer, &value);
    return true;
  }
  case WIRE_KIND_ENTRY: {
    struct wire_entry value;
    wire_read_entry(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_entry(writer, &value);
    return true;
  }
  case WIRE_KIND_MONITOR: {
    struct wire_monitor value;
    wire_read_monitor(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_monitor(writer, &value);
    return true;
  }
  case WIRE_KIND_TRAFFIC: {
    struct wire_traffic value;
    wire_read_traffic(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_traffic(writer, &value);
    return true;
  }
  case WIRE_KIND_HOLD: {
    struct wire_hold value;
    wire_read_hold(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_hold(writer, &value);
    return true;
  }
  case WIRE_KIND_ENDED: {
    struct wire_ended value;
    wire_read_ended(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_ended(writer, &value);
    return true;
  }
  case WIRE_KIND_DECLARE: {
    struct wire_declare value;
    wire_read_declare(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_declare(writer, &value);
    return true;
  }
  case WIRE_KIND_SUSPEND: {
    struct wire_suspend value;
    wire_read_suspend(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_suspend(writer, &value);
    return true;
  }
  case WIRE_KIND_RETAINED: {
    struct wire_retained value;
    wire_read_retained(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_retained(writer, &value);
    return true;
  }
  case WIRE_KIND_DONE: {
    struct wire_done value;
    wire_read_done(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_done(writer, &value);
    return true;
  }
  case WIRE_KIND_AWAITED: {
    struct wire_awaited value;
    wire_read_awaited(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_awaited(writer, &value);
    return true;
  }
  case WIRE_KIND_SUCCEED: {
    struct wire_succeed value;
    wire_read_succeed(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_succeed(writer, &value);
    return true;
  }
  case WIRE_KIND_AMEND: {
    struct wire_amend value;
    wire_read_amend(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_amend(writer, &value);
    return true;
  }
  case WIRE_KIND_POSTER: {
    struct wire_poster_facts value;
    wire_read_poster_facts(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_poster_facts(writer, &value);
    return true;
  }
  case WIRE_KIND_ROOM: {
    struct wire_room value;
    wire_read_room(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_room(writer, &value);
    return true;
  }
  case WIRE_KIND_PACE: {
    struct wire_pace value;
    wire_read_pace(reader, &value);
    if (reader->failed) {
      return false;
    }
    wire_write_pace(writer, &value);
    return true;
  }
  default:
    return false;
  }
}
