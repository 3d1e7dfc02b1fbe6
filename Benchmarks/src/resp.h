/* Replies of Redis (RESP 2), without copying. */
#ifndef RESP_H
#define RESP_H

#include <stddef.h>
#include <stdint.h>

/* One value: text for `+`, `-`, `:` and `$`; the values of an array (`*`) stand behind each other at `text`. */
struct resp {
  char kind;
  const char *text;
  size_t length;
  /* How many values of an array are still to be taken. */
  size_t count;
};

/* Reads the value at the front; returns its length, 0 as long as it is not there in full. Null has no text and no values. */
size_t resp_read(const char *bytes, size_t count, struct resp *value);

/* Takes the next value of an array; ends the program where there is none. */
struct resp resp_next(struct resp *array);

#endif
