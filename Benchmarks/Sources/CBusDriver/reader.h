/* SPDX-License-Identifier: Apache-2.0
 *
 * Receiving on several connections with one thread.
 */
#pragma once

#include "protocol.h"

struct reader {
	struct peer *peer;
	/* Takes what was received, and stores in `is_done` whether no more is to come. False on failure. */
	bool (*advance)(struct reader *reader);
	bool is_done;
};

/* Receives and advances until all are done. False on failure. */
bool read_all(struct reader *const *readers, size_t count);
/* Does so with one reader, the thread's argument. */
void *read_on_thread(void *reader);
