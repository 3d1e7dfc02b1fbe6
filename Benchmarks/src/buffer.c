#include "buffer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "failure.h"

void buffer_reserve(struct buffer *b, size_t room) {
  if (b->end + room <= b->capacity) return;
  size_t count = buffer_count(b);
  if (b->start && count + room <= b->capacity) {
    memmove(b->base, b->base + b->start, count);
  } else {
    size_t capacity = (count + room) * 2;
    char *base = malloc(capacity);
    if (!base) fail("no memory for %zu bytes", capacity);
    if (count) memcpy(base, b->base + b->start, count);
    free(b->base);
    b->base = base;
    b->capacity = capacity;
  }
  b->start = 0;
  b->end = count;
}

void buffer_print(struct buffer *b, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  buffer_reserve(b, (size_t)length + 1);
  vsnprintf(b->base + b->end, (size_t)length + 1, format, again);
  b->end += (size_t)length;
  va_end(again);
  va_end(arguments);
}

void buffer_free(struct buffer *b) {
  free(b->base);
  *b = (struct buffer){0};
}

bool buffer_read(struct buffer *b, int fd, size_t limit) {
  buffer_reserve(b, limit);
  ssize_t got = read(fd, b->base + b->end, limit);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  b->end += (size_t)got;
  return got > 0;
}

bool buffer_write(struct buffer *b, int fd) {
  while (buffer_count(b)) {
    ssize_t written = write(fd, buffer_bytes(b), buffer_count(b));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno == EAGAIN;
    buffer_take(b, (size_t)written);
  }
  return true;
}
