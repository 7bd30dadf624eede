/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_NOTIFICATIONS_H
#define TRIBUNE_NOTIFICATIONS_H

/* The connection reports once, after the last of its observers. */

#include "message.h"

int acknowledgement_new(const struct frame *frame, size_t observers, struct acknowledgement **ret);
void acknowledgement_attach(tribune *bus, struct acknowledgement *acknowledgement, tribune_message *message);
/* Takes one report, NULL for success. The last report frees the acknowledgement. */
int acknowledgement_settle(tribune *bus, struct acknowledgement *acknowledgement, const char *failure);
/* NULL is success. */
int acknowledge(tribune_message *message, const char *failure);
int send_done(tribune *bus, uint64_t poster, uint64_t post, bool has_failed, const char *reason);
/* Cut at a character's boundary to the bus's limit. */
size_t reason_length(const char *text);

#endif
