/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRIBUNE_DELIVERY_H
#define TRIBUNE_DELIVERY_H

#include "slot.h"

int deliver_post(tribune *bus, struct frame *frame);
int deliver_retained(tribune *bus, struct frame *frame);
int deliver_lost(tribune *bus, const struct frame *frame, uint64_t count);
/* Stores a poster. The bus introduces each poster before its first notification. */
int note_poster(tribune *bus, struct frame *frame);

#endif
