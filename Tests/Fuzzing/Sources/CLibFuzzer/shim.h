/* SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer has its own main, and the package manager gives each program another, which calls libFuzzer here.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*test_one_input)(const uint8_t *data, size_t size));

static inline int tribune_run_fuzzer(int argc, char **argv) {
	return LLVMFuzzerRunDriver(&argc, &argv, LLVMFuzzerTestOneInput);
}
