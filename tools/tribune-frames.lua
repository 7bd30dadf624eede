-- SPDX-License-Identifier: Apache-2.0
--
-- Made by "make wire" from docs/tribune.wire. Change that instead.
-- The tables that tribune.lua reads frames with.

local frame_flags = {
  [1] = "acknowledge",
  [2] = "descriptor",
  [128] = "critical",
}

local error_code = {
  [1] = "badMagic",
  [2] = "unsupportedVersion",
  [3] = "frameTooLong",
  [4] = "malformedFrame",
  [5] = "unknownCriticalKind",
  [6] = "helloTimeout",
  [7] = "frameTimeout",
  [8] = "unexpectedDescriptors",
  [9] = "tooSlow",
  [10] = "tooManyConnections",
  [11] = "outOfMemory",
  [12] = "shuttingDown",
  [13] = "missingDescriptor",
  [14] = "restarted",
  [15] = "afterLast",
  [64] = "unknownKind",
  [65] = "invalidName",
  [66] = "invalidPattern",
  [67] = "invalidObject",
  [68] = "invalidValue",
  [69] = "reservedName",
  [70] = "duplicateSerial",
  [71] = "notFound",
  [72] = "notAsked",
  [73] = "limitExceeded",
  [74] = "cancelled",
  [75] = "recursion",
  [76] = "notPermitted",
  [77] = "unknownProtocol",
  [78] = "invalidProtocol",
  [79] = "notConforming",
  [80] = "unknownName",
  [81] = "invalidParameter",
  [82] = "conflict",
  [83] = "invalidDescriptor",
}

local peer_identity = {
  of = "peer_identity",
  { "pid", "u32" },
  { "uid", "u32" },
  { "gid", "u32" },
  { "process", "text" },
  { "units", "text" },
}

local delegate_identity = {
  of = "delegate_identity",
  { "id", "u64", own = true },
  { "label", "text" },
  { "peer", "group", peer_identity },
}

local post_options = {
  [1] = "immediately",
  [2] = "retain",
  [4] = "coalesceByName",
  [8] = "coalesceByObject",
  [16] = "awaited",
  [32] = "bound",
}

local posting_style = {
  [0] = "now",
  [1] = "asSoonAsPossible",
  [2] = "whenIdle",
}

local observe_options = {
  [1] = "retained",
  [2] = "awaited",
}

local suspension_behavior = {
  [0] = "coalesce",
  [1] = "drop",
  [2] = "hold",
  [3] = "deliverImmediately",
}

local observer_failure = {
  [0] = "timedOut",
  [1] = "gone",
  [2] = "failed",
}

local missing_observer = {
  of = "missing_observer",
  { "connection", "id", own = true },
  { "peer", "group", peer_identity },
  { "failure", "enum", observer_failure },
  { "reason", "text", own = true },
  { "elapsed", "u64", unit = "µs" },
}

local failure_policy = {
  [0] = "veto",
  [1] = "abstain",
}

local query_mode = {
  [0] = "parallel",
  [1] = "all",
  [2] = "order",
  [3] = "first",
  [4] = "collect",
}

local verdict_kind = {
  [0] = "allowed",
  [1] = "vetoed",
}

local query_flags = {
  [1] = "isDryRun",
  [2] = "overrides",
  [4] = "wantsProgress",
  [8] = "begins",
}

local action_stage = {
  [0] = "underWay",
  [1] = "waiting",
  [2] = "claiming",
  [3] = "asked",
}

local answer_kind = {
  [0] = "approve",
  [1] = "veto",
  [2] = "abstain",
  [3] = "failed",
  [4] = "value",
}

local progress_stage = {
  [0] = "deferred",
  [1] = "asked",
  [2] = "settled",
}

local outcome_kind = {
  [0] = "approved",
  [1] = "vetoed",
  [2] = "abstained",
  [3] = "timedOut",
  [4] = "gone",
  [5] = "failed",
  [6] = "held",
  [7] = "answered",
}

local outcome = {
  of = "outcome",
  { "delegate", "group", delegate_identity, own = true },
  { "outcome", "enum", outcome_kind },
  { "reason", "text", own = true },
  { "elapsed", "u64", unit = "µs" },
  { "value", "blob" },
}

local conclusion_kind = {
  [0] = "allowed",
  [1] = "vetoed",
  [2] = "cancelled",
}

local access_subject = {
  of = "access_subject",
  { "uid", "u32" },
  { "groups", "numbers" },
  { "unit", "text" },
}

local access_question = {
  of = "access_question",
  { "action", "text" },
  { "has_subject", "bool", own = true },
  { "subject", "group", access_subject, when = { "has_subject", true } },
}

local access_line = {
  of = "access_line",
  { "file", "text" },
  { "number", "u32", own = true },
  { "text", "text" },
}

local access_decision = {
  [0] = "allowed",
  [1] = "denied",
  [2] = "notAllowed",
  [3] = "exempt",
}

local access_entry = {
  of = "access_entry",
  { "decision", "enum", access_decision },
  { "line", "group", access_line },
  { "subject", "group", access_subject, own = true },
}

local near_miss_entry = {
  of = "near_miss_entry",
  { "line", "group", access_line },
  { "lacks", "text" },
}

local list_subject = {
  [0] = "bus",
  [1] = "connections",
  [2] = "observations",
  [3] = "delegates",
  [4] = "chain",
  [5] = "holds",
  [6] = "objects",
  [7] = "protocols",
  [8] = "members",
  [9] = "retained",
  [10] = "access",
  [11] = "endings",
  [12] = "departed",
  [13] = "accounts",
  [14] = "queries",
  [15] = "names",
  [16] = "participants",
  [17] = "users",
  [18] = "verdicts",
}

local bus_entry = {
  of = "bus_entry",
  { "pid", "u32" },
  { "software", "text" },
  { "address", "text" },
  { "uptime", "u64", unit = "µs" },
  { "connections", "u32" },
  { "observations", "u32" },
  { "delegates", "u32" },
  { "queries", "u32" },
  { "posted", "u64" },
  { "delivered", "u64" },
  { "lost", "u64" },
  { "asked", "u64" },
  { "vetoed", "u64" },
  { "holds", "u32" },
  { "actions", "u32" },
  { "denied", "u64" },
  { "refused", "u64" },
  { "posted_bytes", "u64" },
  { "iterations", "u64" },
  { "busy", "u64", unit = "µs" },
  { "longest", "u64", unit = "µs" },
  { "log_used", "u64" },
  { "log_max", "u64" },
  { "kept", "u32" },
}

local connection_state = {
  [1] = "paused",
  [2] = "lossy",
  [4] = "suspended",
  [8] = "notSurviving",
}

local connection_entry = {
  of = "connection_entry",
  { "id", "id", own = true },
  { "peer", "group", peer_identity },
  { "age", "u64", unit = "µs" },
  { "observations", "u32" },
  { "delegates", "u32" },
  { "queries", "u32" },
  { "queued", "u64" },
  { "lost", "u64" },
  { "posted", "u64" },
  { "state", "bits", connection_state, own = true },
  { "buffered", "u64" },
  { "coalesced", "u64" },
  { "posted_bytes", "u64" },
  { "delivered", "u64" },
  { "denied", "u64" },
  { "refused", "u64" },
  { "asked", "u64" },
  { "pauses", "u64" },
  { "paused_time", "u64", unit = "µs" },
  { "lossy_time", "u64", unit = "µs" },
}

local departed_entry = {
  of = "departed_entry",
  { "id", "id", own = true },
  { "peer", "group", peer_identity },
  { "age", "u64", unit = "µs" },
  { "elapsed", "u64", unit = "µs" },
  { "reason", "u16", error_code, own = true },
  { "lost", "u64" },
  { "posted", "u64" },
}

local account_entry = {
  of = "account_entry",
  { "uid", "u32" },
  { "weight", "u32" },
  { "is_privileged", "bool" },
  { "resource", "text" },
  { "used", "u64" },
  { "share", "u64" },
  { "total", "u64" },
}

local durations = {
  of = "durations",
  { "sum", "u64", unit = "µs" },
  { "longest", "u64", unit = "µs" },
  { "first", "u16" },
  { "counts", "numbers" },
}

local outcome_counts = {
  of = "outcome_counts",
  { "approved", "u64" },
  { "vetoed", "u64" },
  { "abstained", "u64" },
  { "timed_out", "u64" },
  { "gone", "u64" },
  { "failed", "u64" },
  { "held", "u64" },
  { "answered", "u64" },
}

local participant_state = {
  [0] = "unasked",
  [1] = "queued",
  [2] = "asked",
  [3] = "settled",
}

local query_participant = {
  of = "query_participant",
  { "connection", "id", own = true },
  { "delegate", "group", delegate_identity, own = true },
  { "state", "enum", participant_state, own = true },
  { "outcome", "enum", outcome_kind },
  { "reason", "text", own = true },
  { "elapsed", "u64", unit = "µs" },
  { "remaining", "u64", unit = "µs" },
}

local query_entry = {
  of = "query_entry",
  { "id", "u64", own = true },
  { "connection", "id", own = true },
  { "peer", "group", peer_identity },
  { "name", "text", own = true },
  { "object", "text", own = true },
  { "mode", "enum", query_mode },
  { "is_dry_run", "bool" },
  { "age", "u64", unit = "µs" },
  { "remaining", "u64", unit = "µs" },
  { "participants", "records", query_participant },
  { "omitted_count", "u32" },
  { "stage", "enum", action_stage, own = true },
}

local name_entry = {
  of = "name_entry",
  { "name", "text", own = true },
  { "asked", "u64" },
  { "vetoed", "u64" },
  { "overridden", "u64" },
  { "cancelled", "u64" },
  { "outcomes", "group", outcome_counts, own = true },
  { "durations", "group", durations },
}

local participant_role = {
  [0] = "delegate",
  [1] = "observer",
}

local participant_entry = {
  of = "participant_entry",
  { "role", "enum", participant_role },
  { "label", "text" },
  { "unit", "text" },
  { "uid", "u32" },
  { "outcomes", "group", outcome_counts, own = true },
  { "durations", "group", durations },
}

local user_entry = {
  of = "user_entry",
  { "uid", "u32" },
  { "unit", "text" },
  { "connections", "u32" },
  { "posted", "u64" },
  { "posted_bytes", "u64" },
  { "delivered", "u64" },
  { "lost", "u64" },
  { "asked", "u64" },
  { "denied", "u64" },
  { "refused", "u64" },
}

local past_verdict = {
  of = "past_verdict",
  { "connection", "id", own = true },
  { "number", "u64", own = true },
  { "age", "u64", unit = "µs" },
  { "fields", "texts" },
}

local observation_entry = {
  of = "observation_entry",
  { "connection", "id", own = true },
  { "pattern", "text" },
  { "object", "text", own = true },
  { "suspension", "enum", suspension_behavior },
  { "is_awaited", "bool" },
}

local delegate_entry = {
  of = "delegate_entry",
  { "connection", "id", own = true },
  { "delegate", "group", delegate_identity, own = true },
  { "object", "text", own = true },
  { "order", "i32" },
  { "failure_policy", "enum", failure_policy },
  { "timeout", "u32", unit = "ms" },
  { "patterns", "texts" },
}

local hold_entry = {
  of = "hold_entry",
  { "connection", "id", own = true },
  { "delegate", "group", delegate_identity, own = true },
  { "pattern", "text" },
  { "object", "text", own = true },
  { "why", "text" },
  { "age", "u64", unit = "µs" },
  { "remaining", "u64", unit = "µs" },
}

local missing_entry = {
  of = "missing_entry",
  { "name", "text", own = true },
}

local retained_entry = {
  of = "retained_entry",
  { "connection", "id", own = true },
  { "uid", "u32" },
  { "name", "text", own = true },
  { "object", "text", own = true },
  { "length", "u32", own = true },
  { "age", "u64", unit = "µs" },
}

local ending_entry = {
  of = "ending_entry",
  { "connection", "id", own = true },
  { "peer", "group", peer_identity },
  { "why", "text" },
}

local object_entry = {
  of = "object_entry",
  { "object", "text", own = true },
  { "protocol_name", "text" },
  { "delegates", "u32" },
  { "connection", "id", own = true },
}

local protocol_entry = {
  of = "protocol_entry",
  { "name", "text", own = true },
  { "parents", "texts" },
  { "members", "u32" },
  { "connection", "id", own = true },
  { "documentation", "text" },
}

local method_kind = {
  [0] = "should",
  [1] = "will",
  [2] = "did",
  [3] = "value",
}

local member_entry = {
  of = "member_entry",
  { "origin", "text" },
  { "kind", "enum", method_kind, own = true },
  { "is_required", "bool" },
  { "name", "text", own = true },
  { "parameters", "text" },
  { "result", "text" },
  { "documentation", "text" },
}

local kinds = {
  [1] = "welcome",
  [2] = "error",
  [3] = "ok",
  [4] = "post",
  [5] = "lost",
  [6] = "observe",
  [7] = "attach",
  [8] = "ask",
  [9] = "question",
  [10] = "answer",
  [11] = "defer",
  [12] = "progress",
  [13] = "verdict",
  [14] = "concluded",
  [15] = "cancel",
  [16] = "list",
  [17] = "entry",
  [18] = "monitor",
  [19] = "traffic",
  [20] = "hold",
  [21] = "ended",
  [22] = "declare",
  [23] = "suspend",
  [24] = "retained",
  [25] = "done",
  [26] = "awaited",
  [27] = "succeed",
  [28] = "amend",
  [29] = "poster",
  [30] = "room",
  [31] = "pace",
  [32] = "begin",
  [33] = "late",
}

local frames = {
  [1] = {
    of = "welcome",
    { "connection", "id", own = true },
    { "payload_max", "u32" },
    { "observations_max", "u32" },
    { "delegates_max", "u32" },
    { "queries_max", "u32" },
    { "deadline_max", "u32", unit = "ms" },
    { "deadline_default", "u32", unit = "ms" },
    { "bus_pid", "u32" },
    { "software", "text" },
  },
  [2] = {
    of = "error",
    { "code", "u16", error_code },
  },
  [3] = {
    of = "ok",
    { "registration", "u64" },
    { "delegate", "u64", own = true },
    { "retained", "u32" },
    { "late", "u32" },
    { "expiry", "u64", unit = "ns" },
  },
  [4] = {
    optional = true,
    of = "post",
    { "options", "bits", post_options, own = true },
    { "style", "enum", posting_style },
    { "deadline", "u32", unit = "ms" },
    { "length", "u32", own = true },
  },
  [5] = {
    of = "lost",
    { "count", "u64" },
  },
  [6] = {
    optional = true,
    of = "observe",
    { "options", "bits", observe_options, own = true },
    { "suspension", "enum", suspension_behavior },
  },
  [7] = {
    of = "attach",
    { "order", "i32" },
    { "failure_policy", "enum", failure_policy },
    { "timeout", "u32", unit = "ms" },
    { "label", "text" },
    { "patterns", "texts" },
    { "is_set", "bool" },
    { "protocols", "texts" },
  },
  [8] = {
    of = "ask",
    { "deadline", "u32", unit = "ms" },
    { "mode", "enum", query_mode },
    { "fallback", "enum", verdict_kind },
    { "parent", "u64" },
    { "flags", "bits", query_flags, own = true },
    { "override_reason", "text" },
    { "slots", "u32" },
  },
  [9] = {
    of = "question",
    { "query", "u64" },
    { "delegate", "u64", own = true },
    { "timeout", "u32", unit = "ms" },
    { "asker", "group", peer_identity },
    { "is_dry_run", "bool" },
    { "wants_value", "bool" },
  },
  [10] = {
    of = "answer",
    { "query", "u64" },
    { "delegate", "u64", own = true },
    { "answer", "enum", answer_kind },
  },
  [11] = {
    of = "defer",
    { "query", "u64" },
    { "delegate", "u64", own = true },
    { "extension", "u32", unit = "ms" },
  },
  [12] = {
    of = "progress",
    { "query", "u64" },
    { "delegate", "group", delegate_identity, own = true },
    { "timeout", "u32", unit = "ms" },
    { "stage", "enum", progress_stage, own = true },
    { "outcome", "enum", outcome_kind },
  },
  [13] = {
    of = "verdict",
    { "query", "u64" },
    { "verdict", "enum", verdict_kind },
    { "is_unanswered", "bool" },
    { "outcomes", "records", outcome, own = true },
    { "is_overridden", "bool" },
    { "is_dry_run", "bool" },
    { "omitted_count", "u32" },
    { "similar_name", "text" },
  },
  [14] = {
    of = "concluded",
    { "query", "u64" },
    { "delegate", "u64", own = true },
    { "conclusion", "enum", conclusion_kind },
  },
  [15] = {
    of = "cancel",
    { "target", "u64" },
  },
  [16] = {
    of = "list",
    { "subject", "enum", list_subject, own = true },
    { "connection", "u64", own = true },
    { "question", "group", access_question, when = { "subject", "access" } },
  },
  [17] = {
    of = "entry",
    {
      "what", "choice",
      { [0] = "bus", [1] = "connection", [2] = "observation", [3] = "delegate", [4] = "hold", [5] = "missing", [6] = "object", [7] = "protocol", [8] = "member", [9] = "retained", [10] = "access", [11] = "nearMiss", [12] = "ending", [13] = "departed", [14] = "account", [15] = "query", [16] = "name", [17] = "participant", [18] = "user", [19] = "verdict" },
      {
        [0] = bus_entry,
        [1] = connection_entry,
        [2] = observation_entry,
        [3] = delegate_entry,
        [4] = hold_entry,
        [5] = missing_entry,
        [6] = object_entry,
        [7] = protocol_entry,
        [8] = member_entry,
        [9] = retained_entry,
        [10] = access_entry,
        [11] = near_miss_entry,
        [12] = ending_entry,
        [13] = departed_entry,
        [14] = account_entry,
        [15] = query_entry,
        [16] = name_entry,
        [17] = participant_entry,
        [18] = user_entry,
        [19] = past_verdict,
      },
      own = true,
    },
  },
  [18] = {
    of = "monitor",
  },
  [19] = {
    of = "traffic",
    { "time", "time" },
    { "from", "id" },
    { "to", "id" },
    { "receivers", "u32" },
  },
  [20] = {
    of = "hold",
    { "expiry", "u64", unit = "ns" },
    { "label", "text" },
    { "is_last", "bool" },
    { "has_holder", "bool" },
    { "holder", "group", peer_identity, when = { "has_holder", true } },
  },
  [21] = {
    of = "ended",
    {
      "what", "choice",
      { [0] = "replaced", [1] = "expired", [2] = "notPermitted" },
      {
        [0] = delegate_entry,
        [1] = { of = "ended" },
        [2] = { of = "ended", { "not_permitted", "text" } },
      },
      own = true,
    },
  },
  [22] = {
    of = "declare",
    { "protocol_name", "text" },
  },
  [23] = {
    of = "suspend",
    { "is_suspended", "bool" },
  },
  [24] = {
    of = "retained",
    { "age", "u64", unit = "µs" },
    { "length", "u32", own = true },
  },
  [25] = {
    of = "done",
    { "poster", "id" },
    { "post", "u64" },
    { "has_failed", "bool" },
  },
  [26] = {
    of = "awaited",
    { "acknowledged", "u32" },
    { "missing", "records", missing_observer },
  },
  [27] = {
    of = "succeed",
    { "predecessor", "id" },
    { "received", "u64" },
  },
  [28] = {
    of = "amend",
    { "target", "u64" },
  },
  [29] = {
    of = "poster",
    { "connection", "id", own = true },
    { "slot", "u32" },
    { "peer", "group", peer_identity },
  },
  [30] = {
    of = "room",
    { "limit", "u64", own = true },
  },
  [31] = {
    of = "pace",
    { "limit", "u16", own = true, unit = "ms" },
  },
  [32] = {
    of = "begin",
    { "query", "u64" },
    { "is_last", "bool" },
    { "stage", "enum", action_stage, own = true },
  },
  [33] = {
    of = "late",
    { "delegate", "u64", own = true },
    { "actions", "u32" },
  },
}

return { kinds = kinds, frames = frames, flags = frame_flags, errors = error_code }
