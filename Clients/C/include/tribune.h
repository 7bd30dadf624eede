/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_H
#define TRIBUNE_H

/*
 * libtribune: a client of the Tribune bus, for C programs with an event loop of their own and for small tools.
 *
 * What holds everywhere:
 *
 * - A function that can fail returns a negative errno. Many also fill a tribune_error, which says why, for programs
 *   (`code`) and for people (`message`). It may be NULL, and is written on failure alone.
 * - The library has no threads, no global state, and sets no signal handlers. A connection, with all that comes from
 *   it, belongs to one thread at a time.
 * - Callbacks run inside tribune_process() alone, one at a time. They may call every function here but
 *   tribune_process(), and may drop any reference, also that of their own slot and of the connection.
 * - Only functions that say so wait. While one waits, whatever else arrives is kept for the next tribune_process().
 * - Everything is registered in order: an observation or a delegate is in force for each frame that is sent behind it.
 * - The bus can be restarted, and even be killed, while connections stay: then nothing here notices. If the connection
 *   is lost nevertheless, the library does not connect again. tribune_process() returns the reason once, after every
 *   slot has received TRIBUNE_ENDED, and nothing is in force any more: no delegate, no hold, no observation. The
 *   program decides what that means to it, and opens another connection if it wants one.
 * - In a child after fork(), what would send, read or wait fails with -ECHILD. References can be dropped, which sends
 *   nothing. Until the child has dropped the last one, executes another program or ends, the connection lasts with all
 *   its holds, even if the parent has gone.
 * - Texts are UTF-8 with a terminating zero. userInfo is bytes, by convention JSON; the library does not look into it.
 * - In the structures of options, zero is the default for each member, and what is reserved has to be zero.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* A connection to a bus. */
typedef struct tribune tribune;
/* What a program has registered on a connection, or a request that is under way. */
typedef struct tribune_slot tribune_slot;
/* What a callback receives, or a reply. It does not change, apart from being answered. */
typedef struct tribune_message tribune_message;

/* ---- Errors: tribune_error(3) ---- */

/* Why something failed. Up to 1,023, these are the numbers of the protocol, which a later bus may have more of. */
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
  /* From here on, the library's own. */
  TRIBUNE_ERROR_SYSTEM = 1024,      /* A system call failed; `number` says how. */
  TRIBUNE_ERROR_INVALID_ARGUMENT,   /* An argument is not what its function takes. */
  TRIBUNE_ERROR_INVALID_ADDRESS,    /* It is not of the form unix:PATH. */
  TRIBUNE_ERROR_UNREACHABLE,        /* No bus answers at the address. */
  TRIBUNE_ERROR_CONNECTION_LOST,    /* What was sent and not answered may have been carried out. */
  TRIBUNE_ERROR_PROTOCOL_VIOLATION, /* The bus has sent what the protocol does not allow. */
  TRIBUNE_ERROR_PAYLOAD_TOO_LONG,   /* userInfo is longer than the bus accepts. */
  TRIBUNE_ERROR_TIMED_OUT,          /* The bus did not answer in time. */
  TRIBUNE_ERROR_QUEUE_FULL,         /* Too much waits for the bus to read it. */
  TRIBUNE_ERROR_EXPIRED,            /* The time of a hold is over. */
  TRIBUNE_ERROR_REPLACED,           /* Another delegate was set in this one's place. */
  TRIBUNE_ERROR_DUPLICATE,          /* This connection has such a delegate already. */
  TRIBUNE_ERROR_FORKED,             /* The connection belongs to the parent process. */
} tribune_code;

typedef struct tribune_error {
  int number;        /* A negative errno. */
  int code;          /* A tribune_code, or another number of the protocol. */
  char message[504]; /* For people, without a full stop. What is longer is cut. */
} tribune_error;

/* ---- Connections: tribune_open(3) ---- */

/* The connection wants to know who posts: tribune_message_get_peer() of notifications. */
#define TRIBUNE_OPEN_POSTERS 1u

/* Connects to the bus at `address`, or if that is NULL, where tribune(3) says. Waits for the bus's welcome, for
   `timeout_usec`. With 0 it does not wait: requests can be made at once, and tribune_process() reports what goes
   wrong. */
int tribune_open(tribune **ret, const char *address, unsigned flags, uint64_t timeout_usec, tribune_error *error);
tribune *tribune_ref(tribune *bus);
/* Closes the connection with the last reference, without waiting. Returns NULL. */
tribune *tribune_unref(tribune *bus);
/* Waits until the bus has handled all that was sent before. */
int tribune_flush(tribune *bus, uint64_t timeout_usec, tribune_error *error);
/* The connection's id, `:N` in print. -EAGAIN until the bus has welcomed it. */
int tribune_get_id(tribune *bus, uint64_t *ret);
/* Bytes of userInfo that the bus accepts: 65,536 until it has welcomed the connection. */
size_t tribune_get_payload_max(tribune *bus);

/* ---- Event loops: tribune_process(3) ---- */

int tribune_get_fd(tribune *bus);
/* What to poll the descriptor for: POLLIN, perhaps with POLLOUT. It can change with every call. */
int tribune_get_events(tribune *bus);
/* When to call tribune_process() at the latest: microseconds of CLOCK_MONOTONIC, 0 for at once, UINT64_MAX for
   never. */
int tribune_get_timeout(tribune *bus, uint64_t *ret_usec);
/* Sends what waits, reads what has arrived, and runs callbacks. Never waits. Returns whether there was anything; or the
   reason, once the connection has ended, and then -ENOTCONN. */
int tribune_process(tribune *bus, tribune_error *error);
/* Waits until there is something for tribune_process(), for `timeout_usec`, UINT64_MAX without an end. Returns whether
   there is; -EINTR after a signal. */
int tribune_wait(tribune *bus, uint64_t timeout_usec);

/* ---- Slots and messages: tribune_slot(3), tribune_message(3) ---- */

typedef enum tribune_type {
  TRIBUNE_READY = 1,    /* The bus has the registration. It is in force. */
  TRIBUNE_NOTIFICATION, /* Somebody has posted something that the slot observes, or that its delegate responds to. */
  TRIBUNE_LOST,         /* Notifications were dropped here: tribune_message_get_lost(). */
  TRIBUNE_QUESTION,     /* The delegate is asked. */
  TRIBUNE_CONCLUDED,    /* A query in which the delegate was asked is over, however it was answered. */
  TRIBUNE_PROGRESS,     /* A delegate of a query was asked, has deferred, or has an outcome. */
  TRIBUNE_ACKNOWLEDGED, /* The bus has taken the post. The request is over. */
  TRIBUNE_AWAITED,      /* All awaited observers are done, or the deadline is over. The request is over. */
  TRIBUNE_VERDICT,      /* The query has its verdict, or its values. The request is over. */
  TRIBUNE_ENDED, /* Nothing is in force any more, and the slot receives nothing else: tribune_message_get_error(). */
} tribune_type;

/* Receives what happens to a slot. Ignore types that you do not know: later versions have more. */
typedef void (*tribune_callback)(tribune_slot *slot, tribune_message *message, void *userdata);

/* Functions with a `tribune_slot **ret` give the caller a reference there. Dropping it takes the registration or the
   request back, and the callback is not run again. With NULL, it lasts as long as the connection. */
tribune_slot *tribune_slot_ref(tribune_slot *slot);
tribune_slot *tribune_slot_unref(tribune_slot *slot);
/* 1 while the registration is in force, 0 as long as the bus has not confirmed it, or while a request is under way;
   once it is refused or over, -ENOTCONN. Reads what has arrived, so it also knows what no callback has received yet. */
int tribune_slot_is_in_force(tribune_slot *slot);
/* Waits until the registration is in force. Fails with the bus's reason if it is refused. */
int tribune_slot_wait(tribune_slot *slot, uint64_t timeout_usec, tribune_error *error);
/* The id of a delegate or a hold, as verdicts have it; 0 until it is in force. */
uint64_t tribune_slot_get_id(tribune_slot *slot);
tribune *tribune_slot_get_bus(tribune_slot *slot);

/* A process, as the kernel and systemd knew it when it connected. */
typedef struct tribune_peer {
  uint32_t pid;            /* 0 if it is not known. */
  uint32_t uid, gid;       /* UINT32_MAX if not known. */
  const char *process;     /* Its name; like the units, empty if there is none or it is not known. */
  const char *system_unit; /* Of the system's service manager. */
  const char *user_unit;   /* Of the user's own, who chose the name. */
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

/* What came of one delegate, or of a hold. Later versions may append members. */
typedef struct tribune_outcome {
  tribune_outcome_kind kind;
  uint64_t delegate; /* The id of the delegate or the hold; 0 if it is required and not attached. */
  const char *label; /* Empty if none, like the reason. */
  const char *reason;
  const tribune_peer *peer;
  uint64_t elapsed_usec;
  const void *value; /* What an ANSWERED one gave; else NULL. */
  size_t value_size;
} tribune_outcome;

typedef enum tribune_failure {
  TRIBUNE_FAILURE_TIMED_OUT = 0,
  TRIBUNE_FAILURE_GONE = 1,
  TRIBUNE_FAILURE_FAILED = 2,
} tribune_failure;

/* An observer that has not acknowledged. Later versions may append members. */
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
  TRIBUNE_CONCLUSION_CANCELLED = 2, /* Also if the delegate cannot learn how the query ends. */
} tribune_conclusion;

/* A message, and all that its functions return, lives as long as a reference to it. The callback has one. */
tribune_message *tribune_message_ref(tribune_message *message);
tribune_message *tribune_message_unref(tribune_message *message);
tribune_type tribune_message_get_type(const tribune_message *message);

/* What a message does not have is NULL, 0 or false. */

/* Of notifications and questions. The object is empty for none. */
const char *tribune_message_get_name(const tribune_message *message);
const char *tribune_message_get_object(const tribune_message *message);
/* Not terminated. A size of 0 is none. */
const void *tribune_message_get_user_info(const tribune_message *message, size_t *ret_size);
/* The connection that posts or asks; 0 is the bus itself. */
uint64_t tribune_message_get_sender(const tribune_message *message);
/* Who asks; who posts, with TRIBUNE_OPEN_POSTERS; whom the progress is about. NULL if it is not known. */
const tribune_peer *tribune_message_get_peer(const tribune_message *message);

/* Of notifications. */
bool tribune_message_is_retained(const tribune_message *message);
/* Whether its poster waits for tribune_done() or tribune_fail(). */
bool tribune_message_is_awaited(const tribune_message *message);
/* How many were dropped, for the connection as a whole: not all need have been for this slot. */
uint64_t tribune_message_get_lost(const tribune_message *message);

/* Of questions, conclusions, progress and verdicts. */
uint64_t tribune_message_get_query(const tribune_message *message);
/* Of questions and verdicts: nothing follows, whatever the verdict. */
bool tribune_message_is_dry_run(const tribune_message *message);
/* Of questions: a value is wanted (tribune_answer_value()), rather than permission. */
bool tribune_message_wants_value(const tribune_message *message);
/* Of questions and progress: milliseconds that the delegate has. */
uint32_t tribune_message_get_timeout_ms(const tribune_message *message);
tribune_conclusion tribune_message_get_conclusion(const tribune_message *message);

/* Of progress: the stage, and the status of a delegate that has deferred, or its outcome with its reason. */
tribune_stage tribune_message_get_stage(const tribune_message *message);

/* Of verdicts. Of a query for values, it is allowed if there is any. */
bool tribune_message_is_allowed(const tribune_message *message);
/* Nobody approved or vetoed: the verdict is the asker's default. */
bool tribune_message_is_unanswered(const tribune_message *message);
bool tribune_message_is_overridden(const tribune_message *message);
/* Holds, required delegates that are missing, then delegates in the chain's order; of progress, its one delegate.
   NULL behind the last. */
const tribune_outcome *tribune_message_get_outcome(const tribune_message *message, size_t index);
/* Further outcomes, which the bus has not listed. */
uint32_t tribune_message_get_omitted(const tribune_message *message);
/* If there is no outcome: a name like the asked one, to which a delegate responds, or which is held, configured or well
   known, so that it may be what was meant. NULL if there is none. */
const char *tribune_message_get_similar_name(const tribune_message *message);

/* Of TRIBUNE_AWAITED: how many connections are done, and those that are not; NULL behind the last. */
uint32_t tribune_message_get_acknowledged(const tribune_message *message);
const tribune_missing *tribune_message_get_missing(const tribune_message *message, size_t index);

/* Of TRIBUNE_ENDED: why. */
const tribune_error *tribune_message_get_error(const tribune_message *message);

/* ---- Notifications: tribune_post(3), tribune_observe(3) ---- */

/* The size of userInfo that is a text with a terminating zero. */
#define TRIBUNE_STRING ((size_t)-1)

#define TRIBUNE_POST_IMMEDIATELY 1u        /* Suspended observers receive it, too. */
#define TRIBUNE_POST_RETAIN 2u             /* The bus keeps it as the last of its name and object. */
#define TRIBUNE_POST_COALESCE_BY_NAME 4u   /* It replaces waiting posts with the same name, … */
#define TRIBUNE_POST_COALESCE_BY_OBJECT 8u /* … with the same object, or with both. */

typedef enum tribune_style {
  TRIBUNE_STYLE_NOW = 0,
  TRIBUNE_STYLE_AS_SOON_AS_POSSIBLE = 1,
  TRIBUNE_STYLE_WHEN_IDLE = 2,
} tribune_style;

typedef struct tribune_post_options {
  unsigned flags; /* TRIBUNE_POST_… */
  tribune_style style;
  uint32_t deadline_ms; /* Of an awaited post; 0 is the bus's own setting. */
  uint32_t reserved32;
  uint64_t reserved[2];
} tribune_post_options;

/* Posts, and does not wait. A post that the bus refuses is not reported. -ENOBUFS, as for all functions that do not
   wait, while too much waits for the bus to read it: tribune_flush(), or wait until tribune_get_events() has no
   POLLOUT. */
int tribune_post(tribune *bus, const char *name, const char *object, const void *user_info, size_t size,
                 const tribune_post_options *options);
/* Waits until the bus has taken the post, or has refused it. */
int tribune_post_acknowledged(tribune *bus, const char *name, const char *object, const void *user_info, size_t size,
                              const tribune_post_options *options, tribune_error *error);
/* Waits until all awaited observers are done, or the deadline is over. Returns whether all of them are done. `ret`,
   which may be NULL, gets the TRIBUNE_AWAITED. */
int tribune_post_awaited(tribune *bus, const char *name, const char *object, const void *user_info, size_t size,
                         const tribune_post_options *options, tribune_message **ret, tribune_error *error);
/* The same two without waiting: the callback receives TRIBUNE_ACKNOWLEDGED, TRIBUNE_AWAITED or TRIBUNE_ENDED. */
int tribune_post_acknowledged_async(tribune *bus, tribune_slot **ret, const char *name, const char *object,
                                    const void *user_info, size_t size, const tribune_post_options *options,
                                    tribune_callback callback, void *userdata);
int tribune_post_awaited_async(tribune *bus, tribune_slot **ret, const char *name, const char *object,
                               const void *user_info, size_t size, const tribune_post_options *options,
                               tribune_callback callback, void *userdata);

#define TRIBUNE_OBSERVE_RETAINED 1u /* Begins with the retained notifications that match, before TRIBUNE_READY. */
#define TRIBUNE_OBSERVE_AWAITED 2u  /* Posters of awaited notifications wait for this observer. */

/* Observes notifications whose name matches the pattern, NULL for any, about the object, NULL for any. */
int tribune_observe(tribune *bus, tribune_slot **ret, const char *pattern, const char *object, unsigned flags,
                    tribune_callback callback, void *userdata);
/* Tells the poster of an awaited notification that this observer is done. Once for each: -ESTALE else. With
   tribune_fail() it says that it is not, and why. If the last reference is dropped without either, it has failed. */
int tribune_done(tribune_message *notification);
int tribune_fail(tribune_message *notification_or_question, const char *reason);

/* ---- Queries: tribune_ask(3) ---- */

typedef enum tribune_mode {
  TRIBUNE_MODE_PARALLEL = 0, /* All are asked at once; the first veto is the verdict. */
  TRIBUNE_MODE_ALL = 1,      /* All are asked at once and awaited: the verdict has every veto. */
  TRIBUNE_MODE_ORDER = 2,    /* One is asked at a time, until one vetoes. */
  TRIBUNE_MODE_FIRST = 3,    /* For a value: one is asked at a time, until one has a value. */
  TRIBUNE_MODE_COLLECT = 4,  /* For values: all are asked at once, and each may have one. */
} tribune_mode;

#define TRIBUNE_ASK_DRY_RUN 1u         /* No action follows, and the delegates know it. */
#define TRIBUNE_ASK_VETO_BY_DEFAULT 2u /* The verdict is a veto if nobody approves or vetoes. */
#define TRIBUNE_ASK_PROGRESS 4u        /* TRIBUNE_PROGRESS for each delegate, and not only for one that defers. */

typedef struct tribune_ask_options {
  unsigned flags; /* TRIBUNE_ASK_… */
  tribune_mode mode;
  uint32_t deadline_ms; /* 0 is the bus's own setting. */
  uint32_t reserved32;
  uint64_t parent;             /* The query that the asker is answering as a delegate; 0 for none. */
  const char *override_reason; /* Why vetoes do not decide; NULL if they do. */
  uint64_t reserved[2];
} tribune_ask_options;

/* Asks, and waits for the verdict. With NULL for the object, it is about all objects. Returns 1 if it is allowed, or if there is a value; 0 if it is vetoed, or if there
   is none. So only a positive result allows anything. `ret`, which may be NULL, gets the TRIBUNE_VERDICT. */
int tribune_ask(tribune *bus, const char *name, const char *object, const void *user_info, size_t size,
                const tribune_ask_options *options, tribune_message **ret, tribune_error *error);
/* The same without waiting: the callback receives TRIBUNE_PROGRESS, then TRIBUNE_VERDICT or TRIBUNE_ENDED. */
int tribune_ask_async(tribune *bus, tribune_slot **ret, const char *name, const char *object, const void *user_info,
                      size_t size, const tribune_ask_options *options, tribune_callback callback, void *userdata);

/* ---- Delegates and holds: tribune_delegate(3), tribune_hold(3) ---- */

#define TRIBUNE_DELEGATE_SET 1u                /* Replaces the other delegates of the object. */
#define TRIBUNE_DELEGATE_ABSTAIN_ON_FAILURE 2u /* A failure or a timeout counts as no opinion, and not as a veto. */

typedef struct tribune_delegate_options {
  unsigned flags;      /* TRIBUNE_DELEGATE_… */
  int32_t order;       /* Its place in the chain: lower is asked first. */
  uint32_t timeout_ms; /* How long it may be silent; 0 is the bus's own setting. */
  uint32_t reserved32;
  const char *label;            /* For people, in verdicts and lists. */
  const char *const *protocols; /* Those that it conforms to; the last is NULL. */
  uint64_t reserved[2];
} tribune_delegate_options;

/* Joins the delegate chain of the object, NULL for any object, for questions whose name matches one of the patterns,
   the last of which is NULL. It also receives the will and did notifications that match. */
int tribune_delegate(tribune *bus, tribune_slot **ret, const char *const *patterns, const char *object,
                     const tribune_delegate_options *options, tribune_callback callback, void *userdata);

/* Each question is answered once, in the callback, or later if the program keeps a reference: with one of these, or
   with tribune_fail(). -ESTALE if it was answered or withdrawn. If the last reference is dropped without an answer, the
   delegate has failed. An answer that reaches the bus too late does not count, which TRIBUNE_CONCLUDED shows alone.
   Reasons may be NULL; what is longer than 4,096 bytes is cut. */
int tribune_approve(tribune_message *question);
int tribune_veto(tribune_message *question, const char *reason);
int tribune_abstain(tribune_message *question);
/* -EINVAL unless tribune_message_wants_value(). */
int tribune_answer_value(tribune_message *question, const void *value, size_t size);
/* Asks for more time from now on, and tells the asker why; the status may be NULL. */
int tribune_defer(tribune_message *question, uint32_t extension_ms, const char *status);

typedef struct tribune_hold_options {
  const char *label;    /* Who holds, for verdicts and lists. */
  uint64_t lifetime_ms; /* From now on, after which it expires; 0 for none. */
  uint64_t reserved[2];
} tribune_hold_options;

/* Vetoes every query whose name matches the pattern, NULL for any, about the object, NULL for any, at once and without
   being asked, until the slot is dropped, the hold expires or the connection ends. A query without an object is about
   all. It needs a reason. It vetoes from TRIBUNE_READY or tribune_slot_wait() on, and not before. With neither a slot
   nor a callback, the connection ends if the hold is refused. */
int tribune_hold(tribune *bus, tribune_slot **ret, const char *pattern, const char *object, const char *why,
                 const tribune_hold_options *options, tribune_callback callback, void *userdata);
/* Changes the reason of a hold. Does not wait for the bus, which may refuse it: then the hold keeps its reason. -ENOTCONN
   once the hold is over. */
int tribune_hold_update(tribune_slot *hold, const char *why);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
