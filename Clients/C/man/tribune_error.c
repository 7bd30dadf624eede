/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <tribune.h>

int main(void)
{
  tribune *bus;
  tribune_error error;
  if (tribune_open(&bus, NULL, 0, 5000000, &error) < 0) {
    return 1;
  }
  int r = tribune_post_acknowledged(bus, "tribune.bus.willStop", NULL, NULL, 0, NULL, &error);
  if (r == -EACCES && error.code == TRIBUNE_ERROR_RESERVED_NAME) {
    printf("%s\n", error.message);
  }
  tribune_unref(bus);
  return 0;
}
