#include "failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fail(const char *format, ...) {
  int error = errno;
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s: ", program_invocation_short_name);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "%s%s\n", error ? ": " : "", error ? strerror(error) : "");
  va_end(arguments);
  exit(1);
}
