/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_MESSAGE_H
#define TRIBUNE_MESSAGE_H

/*
 * A decoded frame for callbacks.
 *
 * A message points into its frame. To make space for a terminating zero, a text moves one byte to the front, over the
 * second byte of its length. So the library can read each text only once. Only a frame without texts in its fields can
 * have several messages.
 *
 * A connection lists each question until its conclusion, and each awaited notification until its acknowledgement.
 */

#include "../include/tribune.h"
#include "inbox.h"

/* The single report of this connection to the poster of an awaited notification. */
struct acknowledgement {
  unsigned open; /* The number of messages without a report. */
  uint64_t poster;
  uint64_t post;
  bool has_failed;
  char *reason; /* The reason of the first failure. */
};

/* A poster. Its messages and the connection share it. */
struct poster {
  unsigned refs;
  uint64_t connection;
  tribune_peer peer;
  char texts[];
};

struct outcome {
  tribune_outcome fields;
  tribune_peer peer;
};

struct missing {
  tribune_missing fields;
  tribune_peer peer;
};

struct tribune_message {
  unsigned refs;
  tribune_type type;
  struct frame *frame;

  /* The place in the connection's list. `bus` is NULL for an unlisted message. */
  tribune *bus;
  tribune_message *previous;
  tribune_message *next;

  tribune_slot *slot;
  bool is_open;
  bool is_awaited;
  struct acknowledgement *acknowledgement;
  struct poster *poster;

  uint64_t query;
  uint64_t delegate;
  uint64_t lost;
  uint32_t timeout_ms;
  uint32_t count; /* The number of omitted outcomes, of connections that are done, or of actions under way. */
  bool is_dry_run;
  bool wants_value;
  bool is_allowed;
  bool is_unanswered;
  bool is_overridden;
  const char *similar_name;
  tribune_conclusion conclusion;
  tribune_stage stage;
  bool has_peer;
  tribune_peer peer;
  struct outcome *outcomes;
  size_t outcome_count;
  struct missing *missing;
  size_t missing_count;
  tribune_error *error;
};

/* `frame` may be NULL. */
tribune_message *message_new(tribune_type type, struct frame *frame);
tribune_message *message_of_error(const tribune_error *error);
/* These functions return -EBADMSG for invalid fields, and -ENOMEM if memory is short. */
int message_of_question(struct frame *frame, tribune_message **ret);
int message_of_verdict(struct frame *frame, tribune_message **ret);
int message_of_progress(struct frame *frame, tribune_message **ret);
int message_of_awaited(struct frame *frame, tribune_message **ret);
int message_of_concluded(struct frame *frame, tribune_message **ret);
int poster_new(struct frame *frame, struct poster **ret, uint32_t *ret_slot);
void poster_unref(struct poster *poster);

void message_list(tribune_message *message, tribune *bus);
void message_unlist(tribune_message *message);

#endif
