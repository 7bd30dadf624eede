/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <ini.h>

/* Sets the longest line, in bytes. libinih keeps its settings in global variables. Debian's libinih cuts lines at 200
 * bytes by default. */
static inline void tribune_inih_prepare(int line_max) {
  ini_use_stack = false;
  ini_max_line = line_max;
  ini_initial_alloc = line_max;
}
