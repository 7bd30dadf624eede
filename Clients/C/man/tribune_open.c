/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <tribune.h>

int main(void)
{
  tribune *bus;
  tribune_error error;
  int r = tribune_open(&bus, "unix:/nowhere/bus", 0, 5000000, &error);
  if (r < 0) {
    printf("%s\n", error.message);
  }
  r = tribune_open(&bus, NULL, 0, 5000000, &error);
  if (r < 0) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  printf("connected\n");
  tribune_unref(bus);
  return 0;
}
