/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_NOTIFICATIONS_H
#define TRIBUNE_NOTIFICATIONS_H

/* A connection acknowledges a notification once, when the last of its awaited observers has reported. */

#include "message.h"

int acknowledgement_new(const struct frame *frame, size_t observers, struct acknowledgement **ret);
void acknowledgement_attach(tribune *bus, struct acknowledgement *acknowledgement, tribune_message *message);
/* Takes one observer's report; a NULL `failure` means success. The last report sends and frees the acknowledgement. */
int acknowledgement_settle(tribune *bus, struct acknowledgement *acknowledgement, const char *failure);
/* Reports for the observer that got the message. If `failure` is NULL, the observer is done. */
int acknowledge(tribune_message *message, const char *failure);
int send_done(tribune *bus, uint64_t poster, uint64_t post, bool has_failed, const char *reason);
/* Returns the length of a reason, cut to the bus's limit at the boundary of a character. */
size_t reason_length(const char *text);

#endif
