/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_DELIVERY_H
#define TRIBUNE_DELIVERY_H

/* Brings notifications, and what was lost of them, to the slots that they are for. An error ends the connection. */

#include "slot.h"

int deliver_post(tribune *bus, struct frame *frame);
int deliver_retained(tribune *bus, struct frame *frame);
/* Reports that so many were dropped, in the place of the frame. */
int deliver_lost(tribune *bus, const struct frame *frame, uint64_t count);
/* The bus tells who posts, before the first notification of each. */
int note_poster(tribune *bus, struct frame *frame);

#endif
