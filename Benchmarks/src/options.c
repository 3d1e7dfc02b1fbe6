#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "failure.h"

const char *option_text(int argc, char **argv, const char *name, const char *otherwise) {
  for (int i = 1; i + 1 < argc; i += 2)
    if (strcmp(argv[i], name) == 0) return argv[i + 1];
  return otherwise;
}

uint64_t option_number(int argc, char **argv, const char *name, uint64_t otherwise) {
  const char *text = option_text(argc, argv, name, NULL);
  if (!text) return otherwise;
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (errno || *end || end == text) {
    errno = 0;
    fail("%s wants a number, not '%s'", name, text);
  }
  return value;
}

void options_check(int argc, char **argv, const char *names) {
  for (int i = 1; i < argc; i += 2) {
    char padded[64];
    snprintf(padded, sizeof padded, "%s ", argv[i]);
    errno = 0;
    if (!strstr(names, padded)) fail("unknown option '%s'; there are %s", argv[i], names);
    if (i + 1 == argc) fail("%s wants a value", argv[i]);
  }
}
