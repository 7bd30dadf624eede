/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_MESSAGE_H
#define TRIBUNE_MESSAGE_H

/*
 * What callbacks receive: a frame, read, with what can be done about it.
 *
 * A message borrows from its frame, and holds a reference to it. Texts in a frame have their length in front of them
 * and nothing behind: each is moved over the second byte of its length, so that a zero fits behind it. That changes the
 * frame, so each is read once, and only frames without texts in their fields have several messages.
 *
 * Questions and awaited notifications can be answered as long as they are listed by their connection. A question stays
 * listed until it is concluded, an awaited notification until it is acknowledged.
 */

#include "../include/tribune.h"
#include "inbox.h"

/* The one report of a connection to the poster of an awaited notification, for all its messages. */
struct acknowledgement {
  unsigned open; /* Messages without a report, each of which has a reference. */
  uint64_t poster;
  uint64_t post;
  bool has_failed;
  char *reason; /* Of the first that failed; NULL for none. */
};

/* A poster, shared by its messages and the connection. */
struct poster {
  unsigned refs;
  uint64_t connection;
  tribune_peer peer;
  char texts[];
};

/* What programs see, with the peer that it points to. */
struct outcome {
  tribune_outcome fields;
  tribune_peer peer;
};

struct missing {
  tribune_missing fields;
  tribune_peer peer;
};

struct tribune_message {
  unsigned refs; /* The program's, and those of callbacks. */
  tribune_type type;
  struct frame *frame; /* NULL if the library has made the message. */

  /* The list of the connection. `bus` is NULL for a message that is not listed. */
  tribune *bus;
  tribune_message *previous;
  tribune_message *next;

  tribune_slot *slot; /* Of a listed question: the delegate. */
  bool is_open;       /* It can be answered or acknowledged. */
  bool is_awaited;
  struct acknowledgement *acknowledgement; /* While it is open. */
  struct poster *poster;

  uint64_t query;
  uint64_t delegate;
  uint64_t lost;
  uint32_t timeout_ms;
  uint32_t count; /* Outcomes that are not listed, or observers that have acknowledged. */
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

/* A message with one reference, and another to the frame, which may be NULL. NULL if there is no memory. */
tribune_message *message_new(tribune_type type, struct frame *frame);
/* One of TRIBUNE_ENDED. */
tribune_message *message_of_error(const tribune_error *error);
/* Read the fields of a frame. -EBADMSG if they are not valid, -ENOMEM. */
int message_of_question(struct frame *frame, tribune_message **ret);
int message_of_verdict(struct frame *frame, tribune_message **ret);
int message_of_progress(struct frame *frame, tribune_message **ret);
int message_of_awaited(struct frame *frame, tribune_message **ret);
int message_of_concluded(struct frame *frame, tribune_message **ret);
int poster_new(struct frame *frame, struct poster **ret, uint32_t *ret_slot);
void poster_unref(struct poster *poster);

/* Adds a message that can be answered to the list of its connection. */
void message_list(tribune_message *message, tribune *bus);
/* The message is not listed any more: nobody can answer it. */
void message_unlist(tribune_message *message);

#endif
