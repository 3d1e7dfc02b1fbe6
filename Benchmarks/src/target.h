/* What a program asks gatewayd for: the URL of a server, or the name of a configured upstream. */
#ifndef TARGET_H
#define TARGET_H

#include <string.h>

/* The param that it is given as. */
static inline const char *target_member(const char *target) {
  return strstr(target, "://") ? "url" : "upstream";
}

#endif
