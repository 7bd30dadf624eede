/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_DELIVERY_H
#define TRIBUNE_DELIVERY_H

/* Routes notifications, and reports of lost ones, to the slots that match. An error ends the connection. */

#include "slot.h"

int deliver_post(tribune *bus, struct frame *frame);
int deliver_retained(tribune *bus, struct frame *frame);
/* Reports that `count` were dropped where the frame stands in the stream. */
int deliver_lost(tribune *bus, const struct frame *frame, uint64_t count);
/* Remembers who posts. The bus sends it before the first notification of each poster. */
int note_poster(tribune *bus, struct frame *frame);

#endif
