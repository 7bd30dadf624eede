/* SPDX-License-Identifier: Apache-2.0 */
#include "CTribuneLinux.h"

static char **arguments;

/* glibc passes the arguments of main to constructors. */
__attribute__((constructor)) static void keep_arguments(int count, char **values)
{
	(void)count;
	arguments = values;
}

char **tribune_arguments(void)
{
	return arguments;
}
