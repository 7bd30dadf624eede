/* SPDX-License-Identifier: Apache-2.0
 *
 * Tribune's frames. Messages through the relay have the same layout.
 */
#pragma once

#include "protocol.h"

enum { FRAME_HEADER = 32, FRAME_NAME_MAX = 255 };

enum frame_kind {
	frame_welcome = 1,
	frame_error = 2,
	frame_ok = 3,
	frame_post = 4,
	frame_lost = 5,
	frame_observe = 6,
	frame_attach = 7,
	frame_ask = 8,
	frame_question = 9,
	frame_answer = 10,
	frame_verdict = 13,
	frame_concluded = 14,
};

enum { frame_has_file = 0x02 };

/* Offsets in a frame's header. */
enum { AT_LENGTH = 0, AT_KIND = 4, AT_FLAGS = 5, AT_NAME = 6, AT_OBJECT = 7, AT_SENDER = 8, AT_SERIAL = 16,
       AT_FIELDS = 24 };

/* Makes a frame of these parts, with so many bytes of payload. */
void frame_make(struct message *message, enum frame_kind kind, const void *fields, size_t fields_length,
                const char *name, const char *object, size_t payload_length);
/* Takes the next frame out of the peer's buffer, and stores its length, name and payload in `incoming`. */
enum taken frame_take(struct peer *peer, struct incoming *incoming);
