/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <ini.h>

/* The library's settings are variables. As built for Debian it cuts a line at 200 bytes, unless they are changed. */
static inline void tribune_inih_prepare(int line_max) {
  ini_use_stack = false;
  ini_max_line = line_max;
  ini_initial_alloc = line_max;
}
