/* Bytes that are appended at the end and taken from the front. A zeroed struct is an empty buffer. */
#ifndef BUFFER_H
#define BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct buffer {
  char *base;
  size_t start, end, capacity;
};

static inline size_t buffer_count(const struct buffer *b) { return b->end - b->start; }
static inline char *buffer_bytes(const struct buffer *b) { return b->base + b->start; }

/* Makes room for so many more bytes behind the end. */
void buffer_reserve(struct buffer *b, size_t room);

static inline void buffer_append(struct buffer *b, const void *bytes, size_t count) {
  if (b->end + count > b->capacity) buffer_reserve(b, count);
  memcpy(b->base + b->end, bytes, count);
  b->end += count;
}

/* Appends formatted text. */
void buffer_print(struct buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline void buffer_take(struct buffer *b, size_t count) {
  b->start += count;
  if (b->start == b->end) b->start = b->end = 0;
}

void buffer_free(struct buffer *b);

/* Reads once, at most `limit` bytes. Returns false at the end of the stream or on an error that is not EAGAIN. */
bool buffer_read(struct buffer *b, int fd, size_t limit);

/* Writes until empty or until the descriptor would block. Returns false on any other error. */
bool buffer_write(struct buffer *b, int fd);

#endif
