/* SPDX-License-Identifier: Apache-2.0
 *
 * Made by "make wire" from docs/tribune.wire. Change that instead.
 *
 * The frames of the protocol: docs/PROTOCOL.md says what they mean. */

#ifndef TRIBUNE_WIRE_H
#define TRIBUNE_WIRE_H

#include "fields.h"

/* Bytes in a name or a pattern. */
#define WIRE_NAME_LENGTH 255u
/* Bytes in an object. */
#define WIRE_OBJECT_LENGTH 255u
/* Bytes of fields in one frame that the bus accepts. */
#define WIRE_FIELDS_LENGTH 65536u
/* Groups of a subject: its primary one and 65,536 supplementary ones. */
#define WIRE_GROUPS 65537u
/* Bytes in a label. */
#define WIRE_LABEL_LENGTH 255u
/* Bytes in a reason or status. The bus cuts longer ones at a character's boundary. */
#define WIRE_REASON_LENGTH 4096u
/* Name patterns in one `attach`. */
#define WIRE_PATTERNS_PER_DELEGATE 128u
/* Patterns of the replacement delegate that an `ended` lists. */
#define WIRE_PATTERNS_OF_REPLACEMENT 16u
/* Protocols in one `attach`. */
#define WIRE_PROTOCOLS_PER_DELEGATE 32u
/* Bytes in the name of a protocol. */
#define WIRE_PROTOCOL_NAME_LENGTH 255u
/* Bytes of protocol definitions in one `declare`. */
#define WIRE_DEFINITION_LENGTH 65536u
/* Bytes of payload that every bus accepts, whatever its settings. */
#define WIRE_PAYLOAD_LENGTH_FLOOR 65536u
/* The smallest userInfo that may be sent as a memfd, in bytes. */
#define WIRE_DESCRIPTOR_PAYLOAD_LENGTH 65536u
/* The largest payload limit that can be configured, in bytes. */
#define WIRE_PAYLOAD_LENGTH_CEILING 1073741824u

/* The kinds of frames. */
enum wire_kind {
  /* The client's id, and the bus's limits. */
  WIRE_KIND_WELCOME = 1,
  /* A refusal. */
  WIRE_KIND_ERROR = 2,
  /* The bus has carried out a frame. */
  WIRE_KIND_OK = 3,
  /* A notification. */
  WIRE_KIND_POST = 4,
  /* The bus has dropped notifications. */
  WIRE_KIND_LOST = 5,
  /* An observation. */
  WIRE_KIND_OBSERVE = 6,
  /* Joins a delegate chain. */
  WIRE_KIND_ATTACH = 7,
  /* A query. */
  WIRE_KIND_ASK = 8,
  /* Asks one delegate. */
  WIRE_KIND_QUESTION = 9,
  /* The delegate's answer. */
  WIRE_KIND_ANSWER = 10,
  /* The delegate needs more time. */
  WIRE_KIND_DEFER = 11,
  /* The state of a query with one delegate. */
  WIRE_KIND_PROGRESS = 12,
  /* The result of a query. */
  WIRE_KIND_VERDICT = 13,
  /* How a query ended. */
  WIRE_KIND_CONCLUDED = 14,
  /* Ends a registration, query, awaited post or action. */
  WIRE_KIND_CANCEL = 15,
  /* Asks for a list. */
  WIRE_KIND_LIST = 16,
  /* One item of a list. */
  WIRE_KIND_ENTRY = 17,
  /* Asks for copies of frames from and to clients. */
  WIRE_KIND_MONITOR = 18,
  /* A frame that passed over the bus. */
  WIRE_KIND_TRAFFIC = 19,
  /* A standing veto. */
  WIRE_KIND_HOLD = 20,
  /* The bus has ended a registration. */
  WIRE_KIND_ENDED = 21,
  /* Declares an object's protocol; defines protocols. */
  WIRE_KIND_DECLARE = 22,
  /* Suspends or resumes notifications. */
  WIRE_KIND_SUSPEND = 23,
  /* A retained notification. */
  WIRE_KIND_RETAINED = 24,
  /* Acknowledges an awaited notification. */
  WIRE_KIND_DONE = 25,
  /* Which observers have handled an awaited notification. */
  WIRE_KIND_AWAITED = 26,
  /* Replaces a connection that a restart ended. */
  WIRE_KIND_SUCCEED = 27,
  /* Changes the reason of a hold. */
  WIRE_KIND_AMEND = 28,
  /* The identity of a poster. */
  WIRE_KIND_POSTER = 29,
  /* How many notifications the client accepts. */
  WIRE_KIND_ROOM = 30,
  /* How long this connection's posts may wait for slow observers. */
  WIRE_KIND_PACE = 31,
  /* Registers an action that is under way, or that waits to begin. */
  WIRE_KIND_BEGIN = 32,
  /* How many actions under way began before a hold. */
  WIRE_KIND_LATE = 33,
};

/* Flags of a frame. */
enum wire_frame_flags {
  /* The sender wants an `ok` when the bus has taken the frame. */
  WIRE_FRAME_FLAGS_ACKNOWLEDGE = 1,
  /* userInfo is in a descriptor sent with the frame; the payload is empty. */
  WIRE_FRAME_FLAGS_DESCRIPTOR = 2,
  /* A receiver that does not know the frame's kind must close the connection. */
  WIRE_FRAME_FLAGS_CRITICAL = 128,
};

/* Why the bus refuses a frame or closes a connection. */
enum wire_error_code {
  /* the first bytes are not a Tribune hello */
  WIRE_ERROR_CODE_BAD_MAGIC = 1,
  WIRE_ERROR_CODE_UNSUPPORTED_VERSION = 2,
  /* fields or payload over a limit */
  WIRE_ERROR_CODE_FRAME_TOO_LONG = 3,
  /* the frame's lengths contradict each other, or its fields end too early */
  WIRE_ERROR_CODE_MALFORMED_FRAME = 4,
  /* an unknown kind with the flag *critical* */
  WIRE_ERROR_CODE_UNKNOWN_CRITICAL_KIND = 5,
  WIRE_ERROR_CODE_HELLO_TIMEOUT = 6,
  WIRE_ERROR_CODE_FRAME_TIMEOUT = 7,
  /* descriptors that no frame can use, or too many */
  WIRE_ERROR_CODE_UNEXPECTED_DESCRIPTORS = 8,
  /* unread frames that cannot be dropped exceed the hard limit */
  WIRE_ERROR_CODE_TOO_SLOW = 9,
  /* the user's share of connections is used up */
  WIRE_ERROR_CODE_TOO_MANY_CONNECTIONS = 10,
  /* memory is short; incomplete frames take too much memory or too many descriptors; or too many refused
     descriptors of the user are still open */
  WIRE_ERROR_CODE_OUT_OF_MEMORY = 11,
  /* the bus is stopping */
  WIRE_ERROR_CODE_SHUTTING_DOWN = 12,
  WIRE_ERROR_CODE_MISSING_DESCRIPTOR = 13,
  /* the connection did not survive a restart */
  WIRE_ERROR_CODE_RESTARTED = 14,
  /* bytes after a `hold` or `begin` with *isLast* */
  WIRE_ERROR_CODE_AFTER_LAST = 15,
  /* an unknown kind, or one that only the bus sends */
  WIRE_ERROR_CODE_UNKNOWN_KIND = 64,
  WIRE_ERROR_CODE_INVALID_NAME = 65,
  WIRE_ERROR_CODE_INVALID_PATTERN = 66,
  WIRE_ERROR_CODE_INVALID_OBJECT = 67,
  /* a value that is not allowed, or over a limit */
  WIRE_ERROR_CODE_INVALID_VALUE = 68,
  /* the name begins with `tribune.` */
  WIRE_ERROR_CODE_RESERVED_NAME = 69,
  WIRE_ERROR_CODE_DUPLICATE_SERIAL = 70,
  /* no such connection, registration, query, action, awaited post or list */
  WIRE_ERROR_CODE_NOT_FOUND = 71,
  /* the query does not wait for this answer or `defer`, or the post for this `done` */
  WIRE_ERROR_CODE_NOT_ASKED = 72,
  /* over a limit, or the bus's log has no room for the frame */
  WIRE_ERROR_CODE_LIMIT_EXCEEDED = 73,
  /* the client cancelled the query or awaited post, or a restart interrupted the list */
  WIRE_ERROR_CODE_CANCELLED = 74,
  /* the query is nested in one of the same name and object, or too deeply */
  WIRE_ERROR_CODE_RECURSION = 75,
  /* the policy does not allow it ([ACCESS.md](ACCESS.md)) */
  WIRE_ERROR_CODE_NOT_PERMITTED = 76,
  WIRE_ERROR_CODE_UNKNOWN_PROTOCOL = 77,
  /* the text has mistakes; the message has lines and columns */
  WIRE_ERROR_CODE_INVALID_PROTOCOL = 78,
  /* the delegate does not conform; the message has all reasons */
  WIRE_ERROR_CODE_NOT_CONFORMING = 79,
  /* the object's protocol has no such method */
  WIRE_ERROR_CODE_UNKNOWN_NAME = 80,
  /* userInfo does not fit the method; the message names the field */
  WIRE_ERROR_CODE_INVALID_PARAMETER = 81,
  /* a different definition or declaration exists, or an equal delegate */
  WIRE_ERROR_CODE_CONFLICT = 82,
  /* not a sealed memfd of the stated length */
  WIRE_ERROR_CODE_INVALID_DESCRIPTOR = 83,
};

/* The process at the other end of a connection, as the kernel and systemd know it. */
struct wire_peer_identity {
  /* as the kernel recorded them on connecting */
  uint32_t pid;
  uint32_t uid;
  uint32_t gid;
  /* the process's name (comm, at most 15 bytes); empty if it ended too soon */
  struct wire_text process;
  /* `SYSTEM` or `SYSTEM/USER`: its units in the system's and the user's service manager. SYSTEM can be
     empty. Unit names have no slash */
  struct wire_text units;
};
void wire_read_peer_identity(struct wire_reader *reader, struct wire_peer_identity *value);
void wire_write_peer_identity(struct wire_writer *writer, const struct wire_peer_identity *value);

/* A delegate, as others see it. */
struct wire_delegate_identity {
  /* never reused */
  uint64_t id;
  struct wire_text label;
  /* its process */
  struct wire_peer_identity peer;
};
void wire_read_delegate_identity(struct wire_reader *reader, struct wire_delegate_identity *value);
void wire_write_delegate_identity(struct wire_writer *writer, const struct wire_delegate_identity *value);

/* The client's id, and the bus's limits. */
struct wire_welcome {
  /* the client's id, `:N` in print */
  uint64_t connection;
  /* bytes of payload in one frame to the bus */
  uint32_t payload_max;
  /* live observations, monitors and declarations of this connection */
  uint32_t observations_max;
  /* live delegates and holds */
  uint32_t delegates_max;
  /* queries and awaited posts under way */
  uint32_t queries_max;
  /* milliseconds for a query or awaited post: the maximum; the default */
  uint32_t deadline_max;
  uint32_t deadline_default;
  /* the daemon's process id */
  uint32_t bus_pid;
  /* the daemon's version, for people */
  struct wire_text software;
};
void wire_read_welcome(struct wire_reader *reader, struct wire_welcome *value);
void wire_write_welcome(struct wire_writer *writer, const struct wire_welcome *value);

/* A refusal. */
struct wire_refusal {
  uint16_t code;
};
void wire_read_refusal(struct wire_reader *reader, struct wire_refusal *value);
void wire_write_refusal(struct wire_writer *writer, const struct wire_refusal *value);

/* The bus has carried out a frame. */
struct wire_okay {
  /* serial of the registration; id of the delegate or hold; else 0 */
  uint64_t registration;
  uint64_t delegate;
  /* of an `observe`: how many retained notifications follow */
  uint32_t retained;
  /* of a `hold` or `attach`: number of actions under way that it could have vetoed */
  uint32_t late;
  /* of a `hold`: its expiry, which the bus may have shortened; 0 for none */
  uint64_t expiry;
};
void wire_read_okay(struct wire_reader *reader, struct wire_okay *value);
void wire_write_okay(struct wire_writer *writer, const struct wire_okay *value);

/* Ends a registration, query, awaited post or action. */
struct wire_cancel {
  /* serial of an `observe`, `attach`, `hold`, `declare`, `monitor`, `ask`, `begin` or awaited `post` of
     this connection */
  uint64_t target;
};
void wire_read_cancel(struct wire_reader *reader, struct wire_cancel *value);
void wire_write_cancel(struct wire_writer *writer, const struct wire_cancel *value);

/* Replaces a connection that a restart ended. */
struct wire_succeed {
  /* id of the ended connection */
  uint64_t predecessor;
  /* notifications that the predecessor received: each `post`, `retained` and `traffic`, and the `count` of
     each `lost` */
  uint64_t received;
};
void wire_read_succeed(struct wire_reader *reader, struct wire_succeed *value);
void wire_write_succeed(struct wire_writer *writer, const struct wire_succeed *value);

/* Options of a post beyond plain delivery. */
enum wire_post_options {
  /* Suspended connections also receive it, after their buffered notifications. */
  WIRE_POST_OPTIONS_IMMEDIATELY = 1,
  /* Kept as the last of its name and object. Without userInfo, it removes the kept one. */
  WIRE_POST_OPTIONS_RETAIN = 2,
  /* Replaces waiting notifications of the same name. */
  WIRE_POST_OPTIONS_COALESCE_BY_NAME = 4,
  /* Replaces waiting notifications about the same object; with `coalesceByName`, of the same name and
     object. */
  WIRE_POST_OPTIONS_COALESCE_BY_OBJECT = 8,
  /* The poster waits until the awaited observers have acknowledged. */
  WIRE_POST_OPTIONS_AWAITED = 16,
  /* With *retain* and the style *now*: removed when the poster's connection has ended for good. */
  WIRE_POST_OPTIONS_BOUND = 32,
};

/* When the bus delivers a notification, as in Cocoa's NSNotificationQueue. */
enum wire_posting_style {
  WIRE_POSTING_STYLE_NOW = 0,
  /* At the end of the bus's loop iteration in which it arrived. */
  WIRE_POSTING_STYLE_AS_SOON_AS_POSSIBLE = 1,
  /* When the bus has read all input, or after one second. */
  WIRE_POSTING_STYLE_WHEN_IDLE = 2,
};

/* A notification. */
struct wire_post {
  uint8_t options;
  enum wire_posting_style style;
  /* if *awaited*: milliseconds until the answer; 0 for `deadlineDefault` */
  uint32_t deadline;
  /* bytes of userInfo in the descriptor; must be 0 without one (`invalidValue`) */
  uint32_t length;
};
void wire_read_post(struct wire_reader *reader, struct wire_post *value);
void wire_write_post(struct wire_writer *writer, const struct wire_post *value);

/* The bus has dropped notifications. */
struct wire_lost {
  /* notifications dropped at this place in the stream */
  uint64_t count;
};
void wire_read_lost(struct wire_reader *reader, struct wire_lost *value);
void wire_write_lost(struct wire_writer *writer, const struct wire_lost *value);

/* Options of an observation. */
enum wire_observe_options {
  /* Matching retained notifications are delivered first. */
  WIRE_OBSERVE_OPTIONS_RETAINED = 1,
  /* Posters of awaited notifications wait for this observer. */
  WIRE_OBSERVE_OPTIONS_AWAITED = 2,
};

/* How notifications are handled while a connection is suspended, as in Cocoa's
   NSDistributedNotificationCenter. */
enum wire_suspension_behavior {
  /* The last of each name and object is delivered on resumption. */
  WIRE_SUSPENSION_BEHAVIOR_COALESCE = 0,
  /* They are dropped. */
  WIRE_SUSPENSION_BEHAVIOR_DROP = 1,
  /* All that fit in the buffer are delivered on resumption. */
  WIRE_SUSPENSION_BEHAVIOR_HOLD = 2,
  /* They are delivered at once, after the buffered ones. */
  WIRE_SUSPENSION_BEHAVIOR_DELIVER_IMMEDIATELY = 3,
};

/* An observation. */
struct wire_observe {
  uint8_t options;
  /* applies while the connection is suspended */
  enum wire_suspension_behavior suspension;
};
void wire_read_observe(struct wire_reader *reader, struct wire_observe *value);
void wire_write_observe(struct wire_writer *writer, const struct wire_observe *value);

/* How many notifications the client accepts. */
struct wire_room {
  /* the total of notifications that the bus may send, counted as in `succeed`; in the bus's frame: 0 */
  uint64_t limit;
};
void wire_read_room(struct wire_reader *reader, struct wire_room *value);
void wire_write_room(struct wire_writer *writer, const struct wire_room *value);

/* How long this connection's posts may wait for slow observers. */
struct wire_pace {
  /* milliseconds; 0 for the bus's setting, 65,535 for no limit */
  uint16_t limit;
};
void wire_read_pace(struct wire_reader *reader, struct wire_pace *value);
void wire_write_pace(struct wire_writer *writer, const struct wire_pace *value);

/* Suspends or resumes notifications. */
struct wire_suspend {
  bool is_suspended;
};
void wire_read_suspend(struct wire_reader *reader, struct wire_suspend *value);
void wire_write_suspend(struct wire_writer *writer, const struct wire_suspend *value);

/* A retained notification. */
struct wire_retained {
  /* microseconds since it was posted */
  uint64_t age;
  /* bytes of userInfo in the descriptor; 0 without one */
  uint32_t length;
};
void wire_read_retained(struct wire_reader *reader, struct wire_retained *value);
void wire_write_retained(struct wire_writer *writer, const struct wire_retained *value);

/* Acknowledges an awaited notification. */
struct wire_done {
  /* the sender of the notification */
  uint64_t poster;
  /* the notification's serial */
  uint64_t post;
  bool has_failed;
};
void wire_read_done(struct wire_reader *reader, struct wire_done *value);
void wire_write_done(struct wire_writer *writer, const struct wire_done *value);

/* Why an observer has not acknowledged. */
enum wire_observer_failure {
  /* It had not acknowledged at the deadline. */
  WIRE_OBSERVER_FAILURE_TIMED_OUT = 0,
  /* It disconnected, or stopped observing before it got the notification. */
  WIRE_OBSERVER_FAILURE_GONE = 1,
  /* It reported a failure. */
  WIRE_OBSERVER_FAILURE_FAILED = 2,
};

/* An observer that has not acknowledged. */
struct wire_missing_observer {
  uint64_t connection;
  struct wire_peer_identity peer;
  /* gone: it disconnected, or stopped observing before it got the notification */
  enum wire_observer_failure failure;
  /* of *failed*; else empty */
  struct wire_text reason;
  /* microseconds from the post to this failure */
  uint64_t elapsed;
};
void wire_read_missing_observer(struct wire_reader *reader, struct wire_missing_observer *value);
void wire_write_missing_observer(struct wire_writer *writer, const struct wire_missing_observer *value);

/* Takes the first off a list that was read. False if there is none. */
bool wire_next_missing_observer(struct wire_elements *list, struct wire_missing_observer *value);

/* Which observers have handled an awaited notification. */
struct wire_awaited {
  /* number of connections that have sent `done` */
  uint32_t acknowledged;
  /* the other connections */
  struct wire_elements missing;
};
void wire_read_awaited(struct wire_reader *reader, struct wire_awaited *value);
void wire_write_awaited(struct wire_writer *writer, const struct wire_awaited *value);

/* The identity of a poster. */
struct wire_poster_facts {
  /* the sender */
  uint64_t connection;
  /* where to remember the sender, until another gets the slot */
  uint32_t slot;
  /* its process; pid 0, uid and gid 4,294,967,295, and empty texts mean unknown */
  struct wire_peer_identity peer;
};
void wire_read_poster_facts(struct wire_reader *reader, struct wire_poster_facts *value);
void wire_write_poster_facts(struct wire_writer *writer, const struct wire_poster_facts *value);

/* Asks for copies of frames from and to clients. */
struct wire_monitor {
  char nothing;
};
void wire_read_monitor(struct wire_reader *reader, struct wire_monitor *value);
void wire_write_monitor(struct wire_writer *writer, const struct wire_monitor *value);

/* A frame that passed over the bus. */
struct wire_traffic {
  /* microseconds since 1970, UTC */
  uint64_t time;
  /* the sending connection; 0 for the bus */
  uint64_t from;
  /* the receiving connection; 0 for a delivered `post` and for a frame to the bus */
  uint64_t to;
  /* number of receivers; 0 for a frame to the bus alone */
  uint32_t receivers;
};
void wire_read_traffic(struct wire_reader *reader, struct wire_traffic *value);
void wire_write_traffic(struct wire_writer *writer, const struct wire_traffic *value);

/* What `timedOut`, `gone` and `failed` count as. */
enum wire_failure_policy {
  WIRE_FAILURE_POLICY_VETO = 0,
  WIRE_FAILURE_POLICY_ABSTAIN = 1,
};

/* Joins a delegate chain. */
struct wire_attach {
  /* place in the chain: lower first, then by time of attaching */
  int32_t order;
  /* what `timedOut`, `gone` and `failed` count as */
  enum wire_failure_policy failure_policy;
  /* milliseconds that the delegate may be silent; 0 for the bus's setting (5 s) */
  uint32_t timeout;
  /* for people, in verdicts and lists */
  struct wire_text label;
  /* name patterns that the delegate responds to; an empty list is `invalidPattern` */
  struct wire_elements patterns;
  /* replaces the object's other delegates */
  bool is_set;
  /* protocols that the delegate conforms to */
  struct wire_elements protocols;
};
void wire_read_attach(struct wire_reader *reader, struct wire_attach *value);
void wire_write_attach(struct wire_writer *writer, const struct wire_attach *value);

/* A standing veto. */
struct wire_hold {
  /* nanoseconds on `CLOCK_MONOTONIC`, in the future and below 2^63 (`invalidValue`); 0 for none */
  uint64_t expiry;
  /* the holder's name, for verdicts and lists */
  struct wire_text label;
  /* this is the connection's last frame; its registrations stay */
  bool is_last;
  /* the process to show as the holder; absent for the sender's */
  bool has_holder;
  struct wire_peer_identity holder;
};
void wire_read_hold(struct wire_reader *reader, struct wire_hold *value);
void wire_write_hold(struct wire_writer *writer, const struct wire_hold *value);

/* Changes the reason of a hold. */
struct wire_amend {
  /* serial of a `hold` of this connection */
  uint64_t target;
};
void wire_read_amend(struct wire_reader *reader, struct wire_amend *value);
void wire_write_amend(struct wire_writer *writer, const struct wire_amend *value);

/* Declares an object's protocol; defines protocols. */
struct wire_declare {
  /* the object's protocol */
  struct wire_text protocol_name;
};
void wire_read_declare(struct wire_reader *reader, struct wire_declare *value);
void wire_write_declare(struct wire_writer *writer, const struct wire_declare *value);

/* How a query is put to the delegate chain. */
enum wire_query_mode {
  /* All delegates are asked at once; the first veto is the verdict. */
  WIRE_QUERY_MODE_PARALLEL = 0,
  /* All delegates are asked at once, and all answers are awaited. */
  WIRE_QUERY_MODE_ALL = 1,
  /* One delegate is asked at a time, until one vetoes. */
  WIRE_QUERY_MODE_ORDER = 2,
  /* One delegate is asked at a time, until one has a value. */
  WIRE_QUERY_MODE_FIRST = 3,
  /* All delegates are asked at once, and each may have a value. */
  WIRE_QUERY_MODE_COLLECT = 4,
};

/* What a query decides. */
enum wire_verdict_kind {
  WIRE_VERDICT_KIND_ALLOWED = 0,
  WIRE_VERDICT_KIND_VETOED = 1,
};

/* Options of a query. */
enum wire_query_flags {
  /* The query decides nothing, and the question says so to the delegates. */
  WIRE_QUERY_FLAGS_IS_DRY_RUN = 1,
  /* The asker overrides vetoes, and gives a reason. */
  WIRE_QUERY_FLAGS_OVERRIDES = 2,
  /* The asker also wants `progress` when a delegate is asked, and when its outcome is known. */
  WIRE_QUERY_FLAGS_WANTS_PROGRESS = 4,
  /* If the verdict is *allowed*, the action is then under way until the asker cancels the query or
     disconnects. */
  WIRE_QUERY_FLAGS_BEGINS = 8,
};

/* A query. */
struct wire_ask {
  /* milliseconds until the verdict; 0 for `deadlineDefault` */
  uint32_t deadline;
  enum wire_query_mode mode;
  /* the verdict if no participant approves or vetoes */
  enum wire_verdict_kind fallback;
  /* the query that a delegate of the asker's user is answering; 0 for none */
  uint64_t parent;
  uint8_t flags;
  /* why vetoes are overridden; ignored without the flag *overrides* */
  struct wire_text override_reason;
  /* not 0: vetoed while this many actions of the name and object are under way */
  uint32_t slots;
};
void wire_read_ask(struct wire_reader *reader, struct wire_ask *value);
void wire_write_ask(struct wire_writer *writer, const struct wire_ask *value);

/* The stage of an action. */
enum wire_action_stage {
  /* The action is under way. */
  WIRE_ACTION_STAGE_UNDER_WAY = 0,
  /* The sender waits for a slot: a place in the line of the action's name and object. */
  WIRE_ACTION_STAGE_WAITING = 1,
  /* As waiting. Holds that come later do not veto the sender, and are too late. */
  WIRE_ACTION_STAGE_CLAIMING = 2,
  /* A query that has not ended; invalid in a `begin`. */
  WIRE_ACTION_STAGE_ASKED = 3,
};

/* Registers an action that is under way, or that waits to begin. */
struct wire_begin {
  /* an action of the same user that moves here from another connection; 0 for one that began without this
     bus */
  uint64_t query;
  /* this is the connection's last frame; the action stays */
  bool is_last;
  enum wire_action_stage stage;
};
void wire_read_begin(struct wire_reader *reader, struct wire_begin *value);
void wire_write_begin(struct wire_writer *writer, const struct wire_begin *value);

/* How many actions under way began before a hold. */
struct wire_late {
  /* the hold's id */
  uint64_t delegate;
  /* 0 once all have ended */
  uint32_t actions;
};
void wire_read_late(struct wire_reader *reader, struct wire_late *value);
void wire_write_late(struct wire_writer *writer, const struct wire_late *value);

/* Asks one delegate. */
struct wire_question {
  /* the same for all delegates of the query; never reused */
  uint64_t query;
  uint64_t delegate;
  /* milliseconds for the answer */
  uint32_t timeout;
  /* the asking process */
  struct wire_peer_identity asker;
  /* the query decides nothing */
  bool is_dry_run;
  /* the asker wants a value, not permission */
  bool wants_value;
};
void wire_read_question(struct wire_reader *reader, struct wire_question *value);
void wire_write_question(struct wire_writer *writer, const struct wire_question *value);

/* A delegate's answer. */
enum wire_answer_kind {
  WIRE_ANSWER_KIND_APPROVE = 0,
  WIRE_ANSWER_KIND_VETO = 1,
  WIRE_ANSWER_KIND_ABSTAIN = 2,
  WIRE_ANSWER_KIND_FAILED = 3,
  /* The payload is a value, as a data source returns it. */
  WIRE_ANSWER_KIND_VALUE = 4,
};

/* The delegate's answer. */
struct wire_answer {
  /* query and delegate as in the question */
  uint64_t query;
  uint64_t delegate;
  enum wire_answer_kind answer;
};
void wire_read_answer(struct wire_reader *reader, struct wire_answer *value);
void wire_write_answer(struct wire_writer *writer, const struct wire_answer *value);

/* The delegate needs more time. */
struct wire_defer {
  uint64_t query;
  /* as in the question; 0 for the only delegate of the sender's user that the query waits for */
  uint64_t delegate;
  /* new timeout: milliseconds from now */
  uint32_t extension;
};
void wire_read_defer(struct wire_reader *reader, struct wire_defer *value);
void wire_write_defer(struct wire_writer *writer, const struct wire_defer *value);

/* How far a query has come with one delegate. */
enum wire_progress_stage {
  /* The delegate needs more time. */
  WIRE_PROGRESS_STAGE_DEFERRED = 0,
  /* The bus has asked the delegate. */
  WIRE_PROGRESS_STAGE_ASKED = 1,
  /* The delegate has an outcome. */
  WIRE_PROGRESS_STAGE_SETTLED = 2,
};

/* The outcome of one delegate. `held`: by a hold, or by an action in a slot. */
enum wire_outcome_kind {
  WIRE_OUTCOME_KIND_APPROVED = 0,
  WIRE_OUTCOME_KIND_VETOED = 1,
  WIRE_OUTCOME_KIND_ABSTAINED = 2,
  WIRE_OUTCOME_KIND_TIMED_OUT = 3,
  WIRE_OUTCOME_KIND_GONE = 4,
  WIRE_OUTCOME_KIND_FAILED = 5,
  WIRE_OUTCOME_KIND_HELD = 6,
  WIRE_OUTCOME_KIND_ANSWERED = 7,
};

/* The state of a query with one delegate. */
struct wire_progress {
  uint64_t query;
  struct wire_delegate_identity delegate;
  /* milliseconds that the delegate now has; 0 once it has settled */
  uint32_t timeout;
  enum wire_progress_stage stage;
  /* at the stage *settled*, as in `verdict`; else ignored */
  enum wire_outcome_kind outcome;
};
void wire_read_progress(struct wire_reader *reader, struct wire_progress *value);
void wire_write_progress(struct wire_writer *writer, const struct wire_progress *value);

/* The outcome of one delegate. */
struct wire_outcome {
  /* of a hold, its id, label and process; of a missing delegate, id 0 and the label `unit:NAME` or
     `label:NAME`; of an action under way, id 0 and the process */
  struct wire_delegate_identity delegate;
  enum wire_outcome_kind outcome;
  /* the reason or error; can be empty */
  struct wire_text reason;
  /* microseconds from the question to the outcome; of an action, since it began */
  uint64_t elapsed;
  /* the value of the answer */
  struct wire_bytes value;
};
void wire_read_outcome(struct wire_reader *reader, struct wire_outcome *value);
void wire_write_outcome(struct wire_writer *writer, const struct wire_outcome *value);

/* Takes the first off a list that was read. False if there is none. */
bool wire_next_outcome(struct wire_elements *list, struct wire_outcome *value);

/* The result of a query. */
struct wire_verdict {
  uint64_t query;
  enum wire_verdict_kind verdict;
  /* the query got no approval or veto; for a value query, no value */
  bool is_unanswered;
  /* holds, oldest first; missing required delegates; actions that fill the slots, oldest first; delegates
     with an outcome, in the chain's order */
  struct wire_elements outcomes;
  /* vetoes among the outcomes were overridden */
  bool is_overridden;
  /* as in the `ask` */
  bool is_dry_run;
  /* outcomes that are not listed */
  uint32_t omitted_count;
  /* a similar name, unless a delegate or hold has exactly this name */
  struct wire_text similar_name;
};
void wire_read_verdict(struct wire_reader *reader, struct wire_verdict *value);
void wire_write_verdict(struct wire_writer *writer, const struct wire_verdict *value);

/* How a query ended, for the delegates that were asked. */
enum wire_conclusion_kind {
  WIRE_CONCLUSION_KIND_ALLOWED = 0,
  WIRE_CONCLUSION_KIND_VETOED = 1,
  /* The asker cancelled the query, or disconnected. */
  WIRE_CONCLUSION_KIND_CANCELLED = 2,
};

/* How a query ended. */
struct wire_concluded {
  /* as in the question */
  uint64_t query;
  uint64_t delegate;
  enum wire_conclusion_kind conclusion;
};
void wire_read_concluded(struct wire_reader *reader, struct wire_concluded *value);
void wire_write_concluded(struct wire_writer *writer, const struct wire_concluded *value);

/* Whom a policy decides about. */
struct wire_access_subject {
  /* the user */
  uint32_t uid;
  /* of more than 128, only those that the policy named when the process connected */
  struct wire_elements groups;
  /* its unit in the system's service manager; empty unless the kernel guarantees one */
  struct wire_text unit;
};
void wire_read_access_subject(struct wire_reader *reader, struct wire_access_subject *value);
void wire_write_access_subject(struct wire_writer *writer, const struct wire_access_subject *value);

/* What a `list` of the subject *access* asks: may the subject do the action with the frame's name and
   object? */
struct wire_access_question {
  /* the name of an action, as in tribune-policy(5) */
  struct wire_text action;
  /* if absent, the connection that the `list` names, or else the sender */
  bool has_subject;
  struct wire_access_subject subject;
};
void wire_read_access_question(struct wire_reader *reader, struct wire_access_question *value);
void wire_write_access_question(struct wire_writer *writer, const struct wire_access_question *value);

/* A line of a policy, and where it is. */
struct wire_access_line {
  /* its path; empty without a file */
  struct wire_text file;
  /* from 1; 0 without a file */
  uint32_t number;
  /* without its comment */
  struct wire_text text;
};
void wire_read_access_line(struct wire_reader *reader, struct wire_access_line *value);
void wire_write_access_line(struct wire_writer *writer, const struct wire_access_line *value);

/* How a policy decides. */
enum wire_access_decision {
  WIRE_ACCESS_DECISION_ALLOWED = 0,
  WIRE_ACCESS_DECISION_DENIED = 1,
  /* No line allows it. */
  WIRE_ACCESS_DECISION_NOT_ALLOWED = 2,
  /* The subject may do everything: it runs the bus, or is root on a bus without a policy. */
  WIRE_ACCESS_DECISION_EXEMPT = 3,
};

/* How the policy decides, for the subject *access*. */
struct wire_access_entry {
  /* notAllowed: no line allows it; exempt: the subject runs the bus, or is root on a bus without a policy */
  enum wire_access_decision decision;
  /* the deciding line; empty without one */
  struct wire_access_line line;
  /* whom the decision concerns */
  struct wire_access_subject subject;
};
void wire_read_access_entry(struct wire_reader *reader, struct wire_access_entry *value);
void wire_write_access_entry(struct wire_writer *writer, const struct wire_access_entry *value);

/* A policy line that would allow the action but for one unmet condition, for the subject *access*. */
struct wire_near_miss_entry {
  struct wire_access_line line;
  /* the unmet condition, for people: `needs group:operators` */
  struct wire_text lacks;
};
void wire_read_near_miss_entry(struct wire_reader *reader, struct wire_near_miss_entry *value);
void wire_write_near_miss_entry(struct wire_writer *writer, const struct wire_near_miss_entry *value);

/* The subjects of a `list`. */
enum wire_list_subject {
  WIRE_LIST_SUBJECT_BUS = 0,
  WIRE_LIST_SUBJECT_CONNECTIONS = 1,
  WIRE_LIST_SUBJECT_OBSERVATIONS = 2,
  WIRE_LIST_SUBJECT_DELEGATES = 3,
  /* What a query with the frame's name and object would meet: the object, holds, actions under way,
     missing required delegates, and delegates, in order. */
  WIRE_LIST_SUBJECT_CHAIN = 4,
  WIRE_LIST_SUBJECT_HOLDS = 5,
  /* Objects that are declared or have delegates of their own. */
  WIRE_LIST_SUBJECT_OBJECTS = 6,
  WIRE_LIST_SUBJECT_PROTOCOLS = 7,
  /* The methods of the protocol that the frame's object has, or whose name it is. */
  WIRE_LIST_SUBJECT_MEMBERS = 8,
  /* Retained notifications. */
  WIRE_LIST_SUBJECT_RETAINED = 9,
  /* How the policy decides about an action with the frame's name or pattern, and its object. */
  WIRE_LIST_SUBJECT_ACCESS = 10,
  /* The registrations that would end if the policy in the payload replaced the present one. */
  WIRE_LIST_SUBJECT_ENDINGS = 11,
  /* Connections that left in the last minute. */
  WIRE_LIST_SUBJECT_DEPARTED = 12,
  /* Users' parts of shared resources. */
  WIRE_LIST_SUBJECT_ACCOUNTS = 13,
  /* Queries and actions under way. */
  WIRE_LIST_SUBJECT_QUERIES = 14,
  /* Counts of queries, by name. */
  WIRE_LIST_SUBJECT_NAMES = 15,
  /* How delegates and awaited observers answered, and how long they took. */
  WIRE_LIST_SUBJECT_PARTICIPANTS = 16,
  /* What users posted and received, by unit. */
  WIRE_LIST_SUBJECT_USERS = 17,
  /* The last verdicts of a bus that writes to no journal. */
  WIRE_LIST_SUBJECT_VERDICTS = 18,
};

/* Asks for a list. */
struct wire_list {
  enum wire_list_subject subject;
  /* only items of this connection; 0 for all */
  uint64_t connection;
  struct wire_access_question question;
};
void wire_read_list(struct wire_reader *reader, struct wire_list *value);
void wire_write_list(struct wire_writer *writer, const struct wire_list *value);

/* The bus as a whole. */
struct wire_bus_entry {
  uint32_t pid;
  struct wire_text software;
  struct wire_text address;
  /* microseconds */
  uint64_t uptime;
  /* at the moment */
  uint32_t connections;
  uint32_t observations;
  uint32_t delegates;
  uint32_t queries;
  /* notifications received from posters; queued for observers; dropped there, or unreported by a daemon
     that died */
  uint64_t posted;
  uint64_t delivered;
  uint64_t lost;
  /* verdicts on permission, without dry runs; vetoes among them */
  uint64_t asked;
  uint64_t vetoed;
  /* holds; actions under way */
  uint32_t holds;
  uint32_t actions;
  /* frames that the policy refused; refused for another reason */
  uint64_t denied;
  uint64_t refused;
  /* bytes of the posted notifications */
  uint64_t posted_bytes;
  /* event loop iterations since the start */
  uint64_t iterations;
  /* microseconds: CPU time of the event loop's thread; longest iteration in the last one to two minutes */
  uint64_t busy;
  uint64_t longest;
  /* bytes of the log, used and allowed */
  uint64_t log_used;
  uint64_t log_max;
  /* descriptors that the keeper has or will get */
  uint32_t kept;
};
void wire_read_bus_entry(struct wire_reader *reader, struct wire_bus_entry *value);
void wire_write_bus_entry(struct wire_writer *writer, const struct wire_bus_entry *value);

/* What a connection is like at the moment. */
enum wire_connection_state {
  /* the bus does not read from it until slow observers catch up */
  WIRE_CONNECTION_STATE_PAUSED = 1,
  /* it reads too slowly, and loses notifications */
  WIRE_CONNECTION_STATE_LOSSY = 2,
  /* it has suspended its notifications */
  WIRE_CONNECTION_STATE_SUSPENDED = 4,
  /* it would end if the bus died now */
  WIRE_CONNECTION_STATE_NOT_SURVIVING = 8,
};

/* A connection. */
struct wire_connection_entry {
  uint64_t id;
  struct wire_peer_identity peer;
  /* microseconds since it connected */
  uint64_t age;
  /* without monitors and declarations */
  uint32_t observations;
  uint32_t delegates;
  uint32_t queries;
  /* unread bytes */
  uint64_t queued;
  /* notifications that it lost; that it posted */
  uint64_t lost;
  uint64_t posted;
  uint8_t state;
  /* since it was suspended: bytes buffered; notifications replaced by later ones */
  uint64_t buffered;
  uint64_t coalesced;
  /* bytes of the notifications that it posted; notifications queued for it */
  uint64_t posted_bytes;
  uint64_t delivered;
  /* its frames that the policy refused; refused for another reason */
  uint64_t denied;
  uint64_t refused;
  /* queries, with dry runs and value queries */
  uint64_t asked;
  /* how often it was paused */
  uint64_t pauses;
  /* microseconds while paused; while lossy */
  uint64_t paused_time;
  uint64_t lossy_time;
};
void wire_read_connection_entry(struct wire_reader *reader, struct wire_connection_entry *value);
void wire_write_connection_entry(struct wire_writer *writer, const struct wire_connection_entry *value);

/* A connection that has gone, for the subject *departed*. */
struct wire_departed_entry {
  uint64_t id;
  struct wire_peer_identity peer;
  /* microseconds while connected; since it left */
  uint64_t age;
  uint64_t elapsed;
  /* the error with which the bus closed it; else 0 */
  uint16_t reason;
  /* notifications that it lost; that it posted */
  uint64_t lost;
  uint64_t posted;
};
void wire_read_departed_entry(struct wire_reader *reader, struct wire_departed_entry *value);
void wire_write_departed_entry(struct wire_writer *writer, const struct wire_departed_entry *value);

/* A user's part of a resource that all users share, for the subject *accounts*: one for each user and
   resource. */
struct wire_account_entry {
  uint32_t uid;
  /* it gets the share of this many users */
  uint32_t weight;
  /* root, or the user that runs the bus */
  bool is_privileged;
  /* `connections`, `descriptors`, `partial-frames`, `log`, `retained`, `registrations`, `protocols`,
     `queues`, `unread-files`; later versions can have more */
  struct wire_text resource;
  /* used by the user; available to it now; available to all: bytes of `partial-frames`, `log`, `retained`
     and `queues`, else numbers */
  uint64_t used;
  uint64_t share;
  uint64_t total;
};
void wire_read_account_entry(struct wire_reader *reader, struct wire_account_entry *value);
void wire_write_account_entry(struct wire_writer *writer, const struct wire_account_entry *value);

/* A histogram of how long something took; docs/LISTING.md describes its buckets. */
struct wire_durations {
  /* total and longest, in microseconds */
  uint64_t sum;
  uint64_t longest;
  /* bucket of the first count */
  uint16_t first;
  /* counts from bucket *first* on */
  struct wire_elements counts;
};
void wire_read_durations(struct wire_reader *reader, struct wire_durations *value);
void wire_write_durations(struct wire_writer *writer, const struct wire_durations *value);

/* How many outcomes of each kind there were. */
struct wire_outcome_counts {
  uint64_t approved;
  uint64_t vetoed;
  uint64_t abstained;
  uint64_t timed_out;
  uint64_t gone;
  uint64_t failed;
  uint64_t held;
  uint64_t answered;
};
void wire_read_outcome_counts(struct wire_reader *reader, struct wire_outcome_counts *value);
void wire_write_outcome_counts(struct wire_writer *writer, const struct wire_outcome_counts *value);

/* How far a query is with a participant. */
enum wire_participant_state {
  /* Others are asked first. */
  WIRE_PARTICIPANT_STATE_UNASKED = 0,
  /* The question waits until the delegate's connection has fewer open questions. */
  WIRE_PARTICIPANT_STATE_QUEUED = 1,
  WIRE_PARTICIPANT_STATE_ASKED = 2,
  /* The participant has an outcome. */
  WIRE_PARTICIPANT_STATE_SETTLED = 3,
};

/* A participant of a query under way. */
struct wire_query_participant {
  /* 0 for a hold or a missing required delegate */
  uint64_t connection;
  /* as in an outcome */
  struct wire_delegate_identity delegate;
  enum wire_participant_state state;
  /* if *settled*; else ignored */
  enum wire_outcome_kind outcome;
  /* of the outcome */
  struct wire_text reason;
  /* microseconds that the query has waited for it; until its timeout, 0 unless the query still waits */
  uint64_t elapsed;
  uint64_t remaining;
};
void wire_read_query_participant(struct wire_reader *reader, struct wire_query_participant *value);
void wire_write_query_participant(struct wire_writer *writer, const struct wire_query_participant *value);

/* Takes the first off a list that was read. False if there is none. */
bool wire_next_query_participant(struct wire_elements *list, struct wire_query_participant *value);

/* A query, or an action under way or waiting, for the subject *queries*. */
struct wire_query_entry {
  uint64_t id;
  /* the asker's */
  uint64_t connection;
  /* the asker */
  struct wire_peer_identity peer;
  struct wire_text name;
  struct wire_text object;
  enum wire_query_mode mode;
  bool is_dry_run;
  /* microseconds since it was asked, began or waits; until the asker's deadline, or 0 */
  uint64_t age;
  uint64_t remaining;
  /* holds, then delegates in the chain's order: at most 256, awaited ones preferred */
  struct wire_elements participants;
  /* participants that are not listed */
  uint32_t omitted_count;
  enum wire_action_stage stage;
};
void wire_read_query_entry(struct wire_reader *reader, struct wire_query_entry *value);
void wire_write_query_entry(struct wire_writer *writer, const struct wire_query_entry *value);

/* Queries under a name, without dry runs, for the subject *names*. */
struct wire_name_entry {
  /* empty for all names beyond the busiest 1,000 */
  struct wire_text name;
  /* verdicts; vetoed ones; allowed by an override; queries without a verdict */
  uint64_t asked;
  uint64_t vetoed;
  uint64_t overridden;
  uint64_t cancelled;
  struct wire_outcome_counts outcomes;
  /* from ask to verdict, if a delegate was asked */
  struct wire_durations durations;
};
void wire_read_name_entry(struct wire_reader *reader, struct wire_name_entry *value);
void wire_write_name_entry(struct wire_writer *writer, const struct wire_name_entry *value);

/* What a participant takes part in. */
enum wire_participant_role {
  /* It answers queries. */
  WIRE_PARTICIPANT_ROLE_DELEGATE = 0,
  /* It handles awaited notifications. */
  WIRE_PARTICIPANT_ROLE_OBSERVER = 1,
};

/* How the delegates or awaited observers of one user, unit and label answered, for the subject
   *participants*. */
struct wire_participant_entry {
  enum wire_participant_role role;
  /* empty if it has none; observers have no label */
  struct wire_text label;
  struct wire_text unit;
  /* 4294967295 for all entries beyond the busiest 1,000 */
  uint32_t uid;
  /* *answered*: an observer has handled the notification */
  struct wire_outcome_counts outcomes;
  /* from question or notification to outcome */
  struct wire_durations durations;
};
void wire_read_participant_entry(struct wire_reader *reader, struct wire_participant_entry *value);
void wire_write_participant_entry(struct wire_writer *writer, const struct wire_participant_entry *value);

/* What the processes of a user in a unit did, for the subject *users*. */
struct wire_user_entry {
  /* 4294967295 for all entries beyond the busiest 1,000 */
  uint32_t uid;
  /* empty if it has none */
  struct wire_text unit;
  /* at the moment */
  uint32_t connections;
  /* notifications that they posted; their bytes */
  uint64_t posted;
  uint64_t posted_bytes;
  /* notifications queued for them; that they lost */
  uint64_t delivered;
  uint64_t lost;
  /* queries, with dry runs and value queries */
  uint64_t asked;
  /* frames that the policy refused; refused for another reason */
  uint64_t denied;
  uint64_t refused;
};
void wire_read_user_entry(struct wire_reader *reader, struct wire_user_entry *value);
void wire_write_user_entry(struct wire_writer *writer, const struct wire_user_entry *value);

/* A verdict of a bus that writes to no journal, for the subject *verdicts*. */
struct wire_past_verdict {
  /* the asker's */
  uint64_t connection;
  /* grows from 1 with each verdict of this daemon */
  uint64_t number;
  /* microseconds since the verdict */
  uint64_t age;
  /* `NAME=VALUE`, as the journal would have them */
  struct wire_elements fields;
};
void wire_read_past_verdict(struct wire_reader *reader, struct wire_past_verdict *value);
void wire_write_past_verdict(struct wire_writer *writer, const struct wire_past_verdict *value);

/* An observation. */
struct wire_observation_entry {
  uint64_t connection;
  /* object empty for any */
  struct wire_text pattern;
  struct wire_text object;
  enum wire_suspension_behavior suspension;
  bool is_awaited;
};
void wire_read_observation_entry(struct wire_reader *reader, struct wire_observation_entry *value);
void wire_write_observation_entry(struct wire_writer *writer, const struct wire_observation_entry *value);

/* A delegate, for the subjects *delegates* and *chain*. */
struct wire_delegate_entry {
  uint64_t connection;
  struct wire_delegate_identity delegate;
  /* empty for any */
  struct wire_text object;
  int32_t order;
  enum wire_failure_policy failure_policy;
  /* milliseconds */
  uint32_t timeout;
  struct wire_elements patterns;
};
void wire_read_delegate_entry(struct wire_reader *reader, struct wire_delegate_entry *value);
void wire_write_delegate_entry(struct wire_writer *writer, const struct wire_delegate_entry *value);

/* A hold, for the subjects *holds* and *chain*. */
struct wire_hold_entry {
  uint64_t connection;
  /* the hold's id, label and process */
  struct wire_delegate_identity delegate;
  /* object empty for any */
  struct wire_text pattern;
  struct wire_text object;
  struct wire_text why;
  /* microseconds since it was taken; until it expires, 0 if it does not */
  uint64_t age;
  uint64_t remaining;
};
void wire_read_hold_entry(struct wire_reader *reader, struct wire_hold_entry *value);
void wire_write_hold_entry(struct wire_writer *writer, const struct wire_hold_entry *value);

/* A delegate that is required and not attached, for the subject *chain*. */
struct wire_missing_entry {
  /* `unit:NAME` (of the system's service manager) or `label:NAME`; `*` if `Default=veto` vetoes because no
     delegate matches */
  struct wire_text name;
};
void wire_read_missing_entry(struct wire_reader *reader, struct wire_missing_entry *value);
void wire_write_missing_entry(struct wire_writer *writer, const struct wire_missing_entry *value);

/* A retained notification. */
struct wire_retained_entry {
  /* the poster's */
  uint64_t connection;
  /* the user in whose share it counts */
  uint32_t uid;
  struct wire_text name;
  struct wire_text object;
  /* bytes of userInfo */
  uint32_t length;
  /* microseconds since it was posted */
  uint64_t age;
};
void wire_read_retained_entry(struct wire_reader *reader, struct wire_retained_entry *value);
void wire_write_retained_entry(struct wire_writer *writer, const struct wire_retained_entry *value);

/* A registration that would end, for the subject *endings*. */
struct wire_ending_entry {
  uint64_t connection;
  struct wire_peer_identity peer;
  /* the missing permission, and any denying line */
  struct wire_text why;
};
void wire_read_ending_entry(struct wire_reader *reader, struct wire_ending_entry *value);
void wire_write_ending_entry(struct wire_writer *writer, const struct wire_ending_entry *value);

/* An object. */
struct wire_object_entry {
  /* an object, or the configuration's pattern */
  struct wire_text object;
  /* empty without a declaration */
  struct wire_text protocol_name;
  /* delegates of this object itself */
  uint32_t delegates;
  /* the declaring connection; 0 for the configuration, or without a declaration */
  uint64_t connection;
};
void wire_read_object_entry(struct wire_reader *reader, struct wire_object_entry *value);
void wire_write_object_entry(struct wire_writer *writer, const struct wire_object_entry *value);

/* A protocol. */
struct wire_protocol_entry {
  struct wire_text name;
  struct wire_elements parents;
  /* methods, with inherited ones */
  uint32_t members;
  /* the defining connection; 0 for a file */
  uint64_t connection;
  struct wire_text documentation;
};
void wire_read_protocol_entry(struct wire_reader *reader, struct wire_protocol_entry *value);
void wire_write_protocol_entry(struct wire_writer *writer, const struct wire_protocol_entry *value);

/* How a method of a protocol is called. */
enum wire_method_kind {
  /* A query, which can be vetoed. */
  WIRE_METHOD_KIND_SHOULD = 0,
  /* A notification before something happens. */
  WIRE_METHOD_KIND_WILL = 1,
  /* A notification after something happened. */
  WIRE_METHOD_KIND_DID = 2,
  /* A query for a value. */
  WIRE_METHOD_KIND_VALUE = 3,
};

/* A method of a protocol. */
struct wire_member_entry {
  /* the protocol that it comes from */
  struct wire_text origin;
  enum wire_method_kind kind;
  bool is_required;
  struct wire_text name;
  /* parameters and result: Varlink's syntax, with parentheses; result empty without a value */
  struct wire_text parameters;
  struct wire_text result;
  struct wire_text documentation;
};
void wire_read_member_entry(struct wire_reader *reader, struct wire_member_entry *value);
void wire_write_member_entry(struct wire_writer *writer, const struct wire_member_entry *value);

/* What the fields of `entry` are. */
enum wire_entry_what {
  WIRE_ENTRY_WHAT_BUS = 0,
  WIRE_ENTRY_WHAT_CONNECTION = 1,
  WIRE_ENTRY_WHAT_OBSERVATION = 2,
  WIRE_ENTRY_WHAT_DELEGATE = 3,
  WIRE_ENTRY_WHAT_HOLD = 4,
  WIRE_ENTRY_WHAT_MISSING = 5,
  WIRE_ENTRY_WHAT_OBJECT = 6,
  WIRE_ENTRY_WHAT_PROTOCOL = 7,
  WIRE_ENTRY_WHAT_MEMBER = 8,
  WIRE_ENTRY_WHAT_RETAINED = 9,
  WIRE_ENTRY_WHAT_ACCESS = 10,
  WIRE_ENTRY_WHAT_NEAR_MISS = 11,
  WIRE_ENTRY_WHAT_ENDING = 12,
  WIRE_ENTRY_WHAT_DEPARTED = 13,
  WIRE_ENTRY_WHAT_ACCOUNT = 14,
  WIRE_ENTRY_WHAT_QUERY = 15,
  WIRE_ENTRY_WHAT_NAME = 16,
  WIRE_ENTRY_WHAT_PARTICIPANT = 17,
  WIRE_ENTRY_WHAT_USER = 18,
  WIRE_ENTRY_WHAT_VERDICT = 19,
};
/* One item of a list. */
struct wire_entry {
  enum wire_entry_what what;
  union {
    struct wire_bus_entry bus;
    struct wire_connection_entry connection;
    struct wire_observation_entry observation;
    struct wire_delegate_entry delegate;
    struct wire_hold_entry hold;
    struct wire_missing_entry missing;
    struct wire_object_entry object;
    struct wire_protocol_entry protocol;
    struct wire_member_entry member;
    struct wire_retained_entry retained;
    struct wire_access_entry access;
    struct wire_near_miss_entry near_miss;
    struct wire_ending_entry ending;
    struct wire_departed_entry departed;
    struct wire_account_entry account;
    struct wire_query_entry query;
    struct wire_name_entry name;
    struct wire_participant_entry participant;
    struct wire_user_entry user;
    struct wire_past_verdict verdict;
  };
};
void wire_read_entry(struct wire_reader *reader, struct wire_entry *value);
void wire_write_entry(struct wire_writer *writer, const struct wire_entry *value);

/* What the fields of `ended` are. */
enum wire_ended_what {
  /* Another delegate replaced this one: its entry, with at most 16 patterns. */
  WIRE_ENDED_WHAT_REPLACED = 0,
  /* A hold has expired. */
  WIRE_ENDED_WHAT_EXPIRED = 1,
  /* The policy no longer allows the registration; the text gives the reason. */
  WIRE_ENDED_WHAT_NOT_PERMITTED = 2,
};
/* The bus has ended a registration. */
struct wire_ended {
  enum wire_ended_what what;
  union {
    struct wire_delegate_entry replaced;
    struct wire_text not_permitted;
  };
};
void wire_read_ended(struct wire_reader *reader, struct wire_ended *value);
void wire_write_ended(struct wire_writer *writer, const struct wire_ended *value);

#endif
