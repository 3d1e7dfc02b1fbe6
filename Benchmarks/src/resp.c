#include "resp.h"

#include <stdlib.h>
#include <string.h>

#include "failure.h"

size_t resp_read(const char *bytes, size_t count, struct resp *value) {
  const char *end = memchr(bytes, '\n', count);
  if (!end) return 0;
  size_t head = (size_t)(end - bytes) + 1, length;
  *value = (struct resp){*bytes, bytes + 1, head - 3, 0};
  if (*bytes != '$' && *bytes != '*') return head;
  long long number = strtoll(bytes + 1, NULL, 10);
  *value = (struct resp){*bytes, bytes + head, 0, 0};
  if (number < 0) return head;
  if (*bytes == '$') {
    value->length = (size_t)number;
    length = head + value->length + 2;
    return length <= count ? length : 0;
  }
  value->count = (size_t)number;
  length = head;
  for (long long i = 0; i < number; i++) {
    struct resp one;
    size_t part = length < count ? resp_read(bytes + length, count - length, &one) : 0;
    if (!part) return 0;
    length += part;
  }
  value->length = length - head;
  return length;
}

struct resp resp_next(struct resp *array) {
  struct resp one;
  size_t length = array->count ? resp_read(array->text, array->length, &one) : 0;
  if (!length) fail("a reply makes no sense");
  array->text += length;
  array->length -= length;
  array->count--;
  return one;
}
