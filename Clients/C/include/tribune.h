/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_H
#define TRIBUNE_H

/*
 * libtribune: a client of the Tribune bus, for C programs with their own event loop and for small tools.
 *
 * - Functions return a negative errno after a failure. Many also fill a tribune_error. The pointer to it may be NULL.
 * - The library has no threads, global state or signal handlers. Only one thread at a time may use a connection, its
 *   slots and its messages.
 * - Callbacks run only inside tribune_process(), one at a time. They may call every function but tribune_process(), and
 *   may drop any reference.
 * - Functions wait only where documented. Messages that arrive during a wait stay for the next tribune_process().
 * - The bus handles frames in order: an observation or delegate is in force for every frame that is sent after it.
 * - A connection usually survives a restart of the bus, even after a crash. The library does not reconnect after a lost
 *   connection: each slot receives TRIBUNE_ENDED, then tribune_process() returns the reason once. All delegates, holds,
 *   actions and observations of the connection have then ended.
 * - In a child after fork(), functions that send, read or wait fail with -ECHILD. The child may drop references
 *   without an effect on the bus. Until the child drops its last reference, executes another program or exits, the
 *   connection and its holds last, even after the parent's end.
 * - Texts are zero-terminated UTF-8. userInfo consists of bytes, by convention JSON, which the library does not parse.
 * - In structures of options, zero is the default of each member. Reserved members must be zero.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

typedef struct tribune tribune;
/* A slot is a registration, or a request in flight. */
typedef struct tribune_slot tribune_slot;
/* A message is the argument of a callback, or a reply. It never changes, but the program can answer it. */
typedef struct tribune_message tribune_message;

/* ---- Errors: tribune_error(3) ---- */

/* The reason of a failure. Codes up to 1,023 are the protocol's numbers. A later bus may send other numbers. */
typedef enum tribune_code {
  TRIBUNE_ERROR_UNSUPPORTED_VERSION = 2,
  TRIBUNE_ERROR_TOO_SLOW = 9,
  TRIBUNE_ERROR_TOO_MANY_CONNECTIONS = 10,
  TRIBUNE_ERROR_OUT_OF_MEMORY = 11,
  TRIBUNE_ERROR_SHUTTING_DOWN = 12,
  TRIBUNE_ERROR_RESTARTED = 14,
  TRIBUNE_ERROR_INVALID_NAME = 65,
  TRIBUNE_ERROR_INVALID_PATTERN = 66,
  TRIBUNE_ERROR_INVALID_OBJECT = 67,
  TRIBUNE_ERROR_INVALID_VALUE = 68,
  TRIBUNE_ERROR_RESERVED_NAME = 69,
  TRIBUNE_ERROR_NOT_FOUND = 71,
  TRIBUNE_ERROR_LIMIT_EXCEEDED = 73,
  TRIBUNE_ERROR_CANCELLED = 74,
  TRIBUNE_ERROR_RECURSION = 75,
  TRIBUNE_ERROR_NOT_PERMITTED = 76,
  TRIBUNE_ERROR_UNKNOWN_PROTOCOL = 77,
  TRIBUNE_ERROR_NOT_CONFORMING = 79,
  TRIBUNE_ERROR_UNKNOWN_NAME = 80,
  TRIBUNE_ERROR_INVALID_PARAMETER = 81,
  TRIBUNE_ERROR_CONFLICT = 82, /* The connection has a delegate with the same object, names and label. */
  /* The library itself reports these codes. */
  TRIBUNE_ERROR_SYSTEM = 1024, /* `number` has the errno of a system call. */
  TRIBUNE_ERROR_INVALID_ARGUMENT,
  TRIBUNE_ERROR_INVALID_ADDRESS, /* The address does not have the form unix:PATH. */
  TRIBUNE_ERROR_UNREACHABLE,
  TRIBUNE_ERROR_CONNECTION_LOST, /* The bus may have carried out unanswered requests. */
  TRIBUNE_ERROR_PROTOCOL_VIOLATION,
  TRIBUNE_ERROR_PAYLOAD_TOO_LONG, /* userInfo exceeds the bus's limit. */
  TRIBUNE_ERROR_TIMED_OUT,
  TRIBUNE_ERROR_QUEUE_FULL, /* The bus reads too slowly. */
  TRIBUNE_ERROR_EXPIRED,    /* The hold's lifetime is over. */
  TRIBUNE_ERROR_REPLACED,   /* Another delegate replaced this one. */
  TRIBUNE_ERROR_FORKED,     /* The connection belongs to the parent process. */
} tribune_code;

typedef struct tribune_error {
  int number;        /* A negative errno. */
  int code;          /* A tribune_code, or another number of the protocol. */
  char message[504]; /* Has no full stop, and may be truncated. */
} tribune_error;

/* ---- Connections: tribune_open(3) ---- */

/* With this flag, the bus identifies the posters of notifications: tribune_message_get_peer(). */
#define TRIBUNE_OPEN_POSTERS 1u

/* Connects to `address`. If `address` is NULL, looks for the bus as tribune(3) describes. Waits up to
   `timeout_usec` for the bus's welcome. If `timeout_usec` is 0, does not wait: requests are possible at once, and
   tribune_process() reports errors. */
int tribune_open(tribune **ret, const char *address, unsigned flags, uint64_t timeout_usec, tribune_error *error);
tribune *tribune_ref(tribune *bus);
/* Drops a reference, and returns NULL. Dropping the last one closes the connection. Does not wait. */
tribune *tribune_unref(tribune *bus);
/* Waits until the bus has handled everything that was sent before. */
int tribune_flush(tribune *bus, uint64_t timeout_usec, tribune_error *error);
/* Sets how long later posts wait for slow observers. Observers that are still slow after that lose notifications. The
   longest time is 65 s. UINT64_MAX means no limit, and 0 the bus's configuration. Does not wait. */
int tribune_set_pace(tribune *bus, uint64_t pace_usec);
/* Gets the connection's number, which is printed as `:N`. Fails with -EAGAIN before the bus's welcome. */
int tribune_get_id(tribune *bus, uint64_t *ret);
/* Returns the limit of userInfo in bytes, which is 65,536 before the bus's welcome. */
size_t tribune_get_payload_max(tribune *bus);

/* ---- Event loops: tribune_process(3) ---- */

int tribune_get_fd(tribune *bus);
/* Returns POLLIN, perhaps with POLLOUT. Any call of the library can change the result. */
int tribune_get_events(tribune *bus);
/* Gets the latest time to call tribune_process(), in microseconds of CLOCK_MONOTONIC. 0 means at once, UINT64_MAX
   never. */
int tribune_get_timeout(tribune *bus, uint64_t *ret_usec);
/* Sends, reads and runs callbacks. Never waits. Returns 1 if it read or handled anything, else 0. After the end of the
   connection, returns the reason once, then -ENOTCONN. */
int tribune_process(tribune *bus, tribune_error *error);
/* Waits until tribune_process() has work, up to `timeout_usec`. UINT64_MAX means no limit. Returns 1 if there is work,
   0 after the timeout, and -EINTR after a signal. */
int tribune_wait(tribune *bus, uint64_t timeout_usec);

/* ---- Slots and messages: tribune_slot(3), tribune_message(3) ---- */

/* The last message of a slot is TRIBUNE_ACKNOWLEDGED, TRIBUNE_AWAITED, TRIBUNE_VERDICT (unless it begins an action) or
   TRIBUNE_ENDED. */
typedef enum tribune_type {
  TRIBUNE_READY = 1,    /* The registration is in force. */
  TRIBUNE_NOTIFICATION, /* A notification for the slot's observation or delegate. */
  TRIBUNE_LOST,         /* Notifications were dropped at this place: tribune_message_get_lost(). */
  TRIBUNE_QUESTION,
  TRIBUNE_CONCLUDED,    /* A query that has asked the delegate is over. */
  TRIBUNE_PROGRESS,     /* A query's delegate was asked, has deferred, or has an outcome. */
  TRIBUNE_ACKNOWLEDGED, /* The bus has accepted the post. */
  TRIBUNE_AWAITED,      /* All awaited observers are done, or the deadline is over. */
  TRIBUNE_VERDICT,      /* The query has its verdict or values. */
  TRIBUNE_ENDED,        /* The slot is no longer in force: tribune_message_get_error(). */
  TRIBUNE_LATE,         /* tribune_hold_get_late() has changed. */
} tribune_type;

/* A callback must ignore unknown types, which later versions may add. */
typedef void (*tribune_callback)(tribune_slot *slot, tribune_message *message, void *userdata);

/* A function with the parameter `tribune_slot **ret` gives the caller a reference. Dropping the last reference
   withdraws the registration or request, and stops its callback. If `ret` is NULL, the slot lasts as long as the
   connection. */
tribune_slot *tribune_slot_ref(tribune_slot *slot);
tribune_slot *tribune_slot_unref(tribune_slot *slot);
/* Returns 1 while the registration is in force, 0 before the bus confirms it or while a request is in flight, and
   -ENOTCONN after a refusal or the end. Reads input, so the result may be ahead of the callbacks. */
int tribune_slot_is_in_force(tribune_slot *slot);
/* Waits until the registration is in force. If the bus refuses it, fails with the bus's reason. */
int tribune_slot_wait(tribune_slot *slot, uint64_t timeout_usec, tribune_error *error);
/* Returns the id of a delegate or hold, as in verdicts. It is 0 before the slot is in force. */
uint64_t tribune_slot_get_id(tribune_slot *slot);
tribune *tribune_slot_get_bus(tribune_slot *slot);

/* A process, as it was when it connected. */
typedef struct tribune_peer {
  uint32_t pid;            /* 0 if unknown. */
  uint32_t uid, gid;       /* UINT32_MAX if unknown. */
  const char *process;     /* Empty if unknown, like the units. */
  const char *system_unit; /* Its unit in the system's service manager. */
  const char *user_unit;   /* Its unit in the user's service manager; the user chose the name. */
} tribune_peer;

typedef enum tribune_outcome_kind {
  TRIBUNE_OUTCOME_APPROVED = 0,
  TRIBUNE_OUTCOME_VETOED = 1,
  TRIBUNE_OUTCOME_ABSTAINED = 2,
  TRIBUNE_OUTCOME_TIMED_OUT = 3,
  TRIBUNE_OUTCOME_GONE = 4,
  TRIBUNE_OUTCOME_FAILED = 5,
  TRIBUNE_OUTCOME_HELD = 6,
  TRIBUNE_OUTCOME_ANSWERED = 7,
} tribune_outcome_kind;

/* Later versions may append members. */
typedef struct tribune_outcome {
  tribune_outcome_kind kind;
  uint64_t delegate; /* The id of the delegate or hold; 0 for a missing required delegate or an action under way. */
  const char *label; /* Empty if none, like the reason. */
  const char *reason;
  const tribune_peer *peer;
  uint64_t elapsed_usec;
  const void *value; /* The value of an ANSWERED outcome; else NULL. */
  size_t value_size;
} tribune_outcome;

typedef enum tribune_failure {
  TRIBUNE_FAILURE_TIMED_OUT = 0,
  TRIBUNE_FAILURE_GONE = 1,
  TRIBUNE_FAILURE_FAILED = 2,
} tribune_failure;

/* An observer that did not acknowledge. Later versions may append members. */
typedef struct tribune_missing {
  tribune_failure failure;
  uint64_t connection;
  const char *reason;
  const tribune_peer *peer;
  uint64_t elapsed_usec;
} tribune_missing;

typedef enum tribune_stage {
  TRIBUNE_STAGE_DEFERRED = 0,
  TRIBUNE_STAGE_ASKED = 1,
  TRIBUNE_STAGE_SETTLED = 2,
} tribune_stage;

typedef enum tribune_conclusion {
  TRIBUNE_CONCLUSION_ALLOWED = 0,
  TRIBUNE_CONCLUSION_VETOED = 1,
  TRIBUNE_CONCLUSION_CANCELLED = 2, /* Also used if the delegate cannot learn the result. */
} tribune_conclusion;

/* A reference keeps a message and all results of its functions. During a callback, the library holds a reference. */
tribune_message *tribune_message_ref(tribune_message *message);
tribune_message *tribune_message_unref(tribune_message *message);
tribune_type tribune_message_get_type(const tribune_message *message);

/* If a message lacks a part, the function for it returns NULL, 0 or false. */

/* The name and the object of a notification or question. An empty object means none. */
const char *tribune_message_get_name(const tribune_message *message);
const char *tribune_message_get_object(const tribune_message *message);
/* The userInfo of a notification or question. It is not zero-terminated. */
const void *tribune_message_get_user_info(const tribune_message *message, size_t *ret_size);
/* The posting or asking connection; 0 for the bus itself. */
uint64_t tribune_message_get_sender(const tribune_message *message);
/* The asker of a question, the delegate of a TRIBUNE_PROGRESS, or the poster of a notification. The poster is known
   only with TRIBUNE_OPEN_POSTERS. NULL if unknown. */
const tribune_peer *tribune_message_get_peer(const tribune_message *message);

bool tribune_message_is_retained(const tribune_message *message);
/* True if the poster waits for tribune_done() or tribune_fail(). */
bool tribune_message_is_awaited(const tribune_message *message);
/* The number of dropped notifications of the whole connection. Some may have been for other slots. */
uint64_t tribune_message_get_lost(const tribune_message *message);

/* The id of the query of a question, conclusion, progress or verdict. */
uint64_t tribune_message_get_query(const tribune_message *message);
/* True if no action follows a question or verdict. */
bool tribune_message_is_dry_run(const tribune_message *message);
/* True if a question asks for tribune_answer_value(). */
bool tribune_message_wants_value(const tribune_message *message);
/* The delegate's time to answer, in questions and progress. */
uint32_t tribune_message_get_timeout_ms(const tribune_message *message);
tribune_conclusion tribune_message_get_conclusion(const tribune_message *message);

/* The stage of a TRIBUNE_PROGRESS. If the delegate has deferred, the reason of the outcome is the delegate's status. */
tribune_stage tribune_message_get_stage(const tribune_message *message);

/* True if a verdict allows the action, or if a query for values got a value. */
bool tribune_message_is_allowed(const tribune_message *message);
/* True if no delegate or hold approved or vetoed. A default then decided: the asker's, or `Default=veto`. */
bool tribune_message_is_unanswered(const tribune_message *message);
bool tribune_message_is_overridden(const tribune_message *message);
/* The outcomes of a verdict: holds, then missing required delegates, then actions that fill the slots, then delegates
   in the order of the chain. A TRIBUNE_PROGRESS has one outcome, that of its delegate. NULL after the last outcome. */
const tribune_outcome *tribune_message_get_outcome(const tribune_message *message, size_t index);
/* The number of outcomes that the bus has not listed. */
uint32_t tribune_message_get_omitted(const tribune_message *message);
/* A similar name that the asker may have meant: a name in use, a configured one, or a well-known one. NULL if none, or
   if a delegate or hold has exactly the name of the query. */
const char *tribune_message_get_similar_name(const tribune_message *message);

/* In TRIBUNE_AWAITED: the number of connections that are done, and the observers that are not. NULL after the last. */
uint32_t tribune_message_get_acknowledged(const tribune_message *message);
const tribune_missing *tribune_message_get_missing(const tribune_message *message, size_t index);

/* The reason of TRIBUNE_ENDED. */
const tribune_error *tribune_message_get_error(const tribune_message *message);

/* ---- Notifications: tribune_post(3), tribune_observe(3) ---- */

/* Pass this as the size of zero-terminated userInfo. */
#define TRIBUNE_STRING ((size_t)-1)

#define TRIBUNE_POST_IMMEDIATELY 1u        /* Suspended observers receive the post too. */
#define TRIBUNE_POST_RETAIN 2u             /* The bus keeps the last post of each name and object. */
#define TRIBUNE_POST_COALESCE_BY_NAME 4u   /* Replaces waiting posts with the same name. */
#define TRIBUNE_POST_COALESCE_BY_OBJECT 8u /* The same for the object. If both flags are set, both must match. */
#define TRIBUNE_POST_BOUND 32u             /* With TRIBUNE_POST_RETAIN: keeps the post until this connection ends. */

typedef enum tribune_style {
  TRIBUNE_STYLE_NOW = 0,
  TRIBUNE_STYLE_AS_SOON_AS_POSSIBLE = 1,
  TRIBUNE_STYLE_WHEN_IDLE = 2,
} tribune_style;

typedef struct tribune_post_options {
  unsigned flags; /* TRIBUNE_POST_… */
  tribune_style style;
  uint32_t deadline_ms; /* The deadline of an awaited post; 0 for the bus's default. */
  uint32_t reserved32;
  uint64_t reserved[2];
} tribune_post_options;

/* Does not wait, and does not report a refusal. If 4 MiB wait for the bus, functions that post, ask or register without
   waiting fail with -ENOBUFS: call tribune_flush(), or tribune_process() until tribune_get_events() lacks POLLOUT. */
int tribune_post(tribune *bus, const char *name, const char *object, const void *user_info, size_t size,
                 const tribune_post_options *options);
/* Waits until the bus has accepted or refused the post. */
int tribune_post_acknowledged(tribune *bus, const char *name, const char *object, const void *user_info, size_t size,
                              const tribune_post_options *options, tribune_error *error);
/* Waits until the awaited observers are done, or the deadline is over. Returns 1 if all observers are done, else 0.
   `ret`, which may be NULL, gets the message TRIBUNE_AWAITED. */
int tribune_post_awaited(tribune *bus, const char *name, const char *object, const void *user_info, size_t size,
                         const tribune_post_options *options, tribune_message **ret, tribune_error *error);
/* Asynchronous: the callback receives TRIBUNE_ACKNOWLEDGED, TRIBUNE_AWAITED or TRIBUNE_ENDED. */
int tribune_post_acknowledged_async(tribune *bus, tribune_slot **ret, const char *name, const char *object,
                                    const void *user_info, size_t size, const tribune_post_options *options,
                                    tribune_callback callback, void *userdata);
int tribune_post_awaited_async(tribune *bus, tribune_slot **ret, const char *name, const char *object,
                               const void *user_info, size_t size, const tribune_post_options *options,
                               tribune_callback callback, void *userdata);

#define TRIBUNE_OBSERVE_RETAINED 1u /* Matching retained notifications precede new ones. */
#define TRIBUNE_OBSERVE_AWAITED 2u  /* Posters of awaited notifications wait for this observer. */

/* Observes notifications. A `pattern` or `object` of NULL matches any. */
int tribune_observe(tribune *bus, tribune_slot **ret, const char *pattern, const char *object, unsigned flags,
                    tribune_callback callback, void *userdata);
/* tribune_done() reports to the poster of an awaited notification that this observer is done, and tribune_fail() that
   it failed. A second report fails with -ESTALE. Dropping the last reference without a report is a failure. */
int tribune_done(tribune_message *notification);
int tribune_fail(tribune_message *notification_or_question, const char *reason);

/* ---- Queries: tribune_ask(3) ---- */

typedef enum tribune_mode {
  TRIBUNE_MODE_PARALLEL = 0, /* Asks all delegates at once; the first veto decides. */
  TRIBUNE_MODE_ALL = 1,      /* Asks all delegates at once, and collects every veto. */
  TRIBUNE_MODE_ORDER = 2,    /* Asks one delegate at a time, until a veto. */
  TRIBUNE_MODE_FIRST = 3,    /* Asks one delegate at a time, until a value. */
  TRIBUNE_MODE_COLLECT = 4,  /* Asks all delegates at once, and collects their values. */
} tribune_mode;

#define TRIBUNE_ASK_DRY_RUN 1u         /* No action follows. Delegates learn this with the question. */
#define TRIBUNE_ASK_VETO_BY_DEFAULT 2u /* Without an approval or a veto, the verdict is a veto. */
#define TRIBUNE_ASK_PROGRESS 4u        /* Requests TRIBUNE_PROGRESS for each delegate, not only if one defers. */
#define TRIBUNE_ASK_BEGIN 8u           /* If the verdict allows the action, the action begins with it. */

typedef struct tribune_ask_options {
  unsigned flags; /* TRIBUNE_ASK_… */
  tribune_mode mode;
  uint32_t deadline_ms;        /* 0 for the bus's default. */
  uint32_t slots;              /* If so many of these actions are under way, they veto; 0 for any number. */
  uint64_t parent;             /* The query that the asker is answering as a delegate; 0 for none. */
  const char *override_reason; /* The reason to override vetoes; NULL to respect them. */
  uint64_t reserved[2];
} tribune_ask_options;

/* Waits for the verdict. Returns 1 if it allows the action or has a value, otherwise 0 or a negative errno. So only a
   positive result allows the action. If `object` is NULL, the query concerns all objects. `ret`, which may be NULL,
   gets the message TRIBUNE_VERDICT. */
int tribune_ask(tribune *bus, const char *name, const char *object, const void *user_info, size_t size,
                const tribune_ask_options *options, tribune_message **ret, tribune_error *error);
/* Asynchronous: the callback receives TRIBUNE_PROGRESS, then TRIBUNE_VERDICT or TRIBUNE_ENDED. */
int tribune_ask_async(tribune *bus, tribune_slot **ret, const char *name, const char *object, const void *user_info,
                      size_t size, const tribune_ask_options *options, tribune_callback callback, void *userdata);

/* TRIBUNE_ASK_BEGIN registers the action together with the verdict, so no hold can come between. The ask's slot is then
   the action's: the action is under way until the slot is dropped or the connection ends. Without a slot, as after
   tribune_ask(), the action lasts as long as the connection. After a veto, the slot is over. */

/* Asks with TRIBUNE_ASK_BEGIN, and waits for the verdict, as tribune_ask() does. If the verdict allows the action,
   `ret` gets the action's slot, else NULL. */
int tribune_begin(tribune *bus, tribune_slot **ret, const char *name, const char *object, const void *user_info,
                  size_t size, const tribune_ask_options *options, tribune_message **ret_verdict, tribune_error *error);
/* Registers an action that is under way already, such as one that began over a lost connection. Does not ask, and does
   not wait. `name` is the question's. If `ret` and `callback` are NULL, a refusal ends the connection. */
int tribune_continue(tribune *bus, tribune_slot **ret, const char *name, const char *object, tribune_callback callback,
                     void *userdata);

/* ---- Delegates and holds: tribune_delegate(3), tribune_hold(3) ---- */

#define TRIBUNE_DELEGATE_SET 1u                /* Replaces the other delegates of the object. */
#define TRIBUNE_DELEGATE_ABSTAIN_ON_FAILURE 2u /* If the delegate fails or times out, it abstains. */

typedef struct tribune_delegate_options {
  unsigned flags;      /* TRIBUNE_DELEGATE_… */
  int32_t order;       /* The place in the chain: the bus asks the lowest first. */
  uint32_t timeout_ms; /* Time to answer; 0 for the bus's default. */
  uint32_t reserved32;
  const char *label;            /* Shown in verdicts and lists. */
  const char *const *protocols; /* The delegate's protocols, NULL-terminated. */
  uint64_t reserved[2];
} tribune_delegate_options;

/* Attaches a delegate to the chain of `object`, or of all objects if `object` is NULL. The bus asks the delegate each
   question whose name matches one of `patterns`, a list that ends with NULL. The delegate also receives matching will-
   and did-notifications. */
int tribune_delegate(tribune *bus, tribune_slot **ret, const char *const *patterns, const char *object,
                     const tribune_delegate_options *options, tribune_callback callback, void *userdata);

/* Answer a question once, by one of these functions or tribune_fail(). You may answer in the callback, or later if you
   hold a reference. The functions fail with -ESTALE if the question was answered or withdrawn. Dropping the last
   reference without an answer is a failure. The bus ignores a late answer, without an error: only TRIBUNE_CONCLUDED
   shows that the query is over. A reason may be NULL, and is cut at 4,096 bytes. */
int tribune_approve(tribune_message *question);
int tribune_veto(tribune_message *question, const char *reason);
int tribune_abstain(tribune_message *question);
/* Fails with -EINVAL if tribune_message_wants_value() is false. */
int tribune_answer_value(tribune_message *question, const void *value, size_t size);
/* Asks for more time to answer: `extension_ms` from now on. The asker sees `status`, which may be NULL. */
int tribune_defer(tribune_message *question, uint32_t extension_ms, const char *status);

typedef struct tribune_hold_options {
  const char *label;    /* Shown in verdicts and lists. */
  uint64_t lifetime_ms; /* The time until the hold expires; 0 for no limit. */
  uint64_t reserved[2];
} tribune_hold_options;

/* Takes a hold, which vetoes every query with a matching name and object. A `pattern` or `object` of NULL matches
   any. A query without an object matches the holds of all objects. The hold ends when the slot is dropped, the hold
   expires, or the connection ends. `why` is required. The hold is in force when TRIBUNE_READY arrives, or
   tribune_slot_wait() returns. If `ret` and `callback` are NULL, a refusal ends the connection. */
int tribune_hold(tribune *bus, tribune_slot **ret, const char *pattern, const char *object, const char *why,
                 const tribune_hold_options *options, tribune_callback callback, void *userdata);
/* Changes the reason of a hold, and does not wait. If the bus refuses the change, the old reason stays. Fails with
   -ENOTCONN after the end of the hold. */
int tribune_hold_update(tribune_slot *hold, const char *why);
/* Returns the number of actions under way that the hold came too late for. It is 0 before the hold is in force, and
   after its end. The result may be ahead of the callbacks. */
uint32_t tribune_hold_get_late(tribune_slot *hold);
/* Waits until the hold is in force, and these actions have ended. Fails with -ENOTCONN if the hold ends first. */
int tribune_hold_wait(tribune_slot *hold, uint64_t timeout_usec, tribune_error *error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
