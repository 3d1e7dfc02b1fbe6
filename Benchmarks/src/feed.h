/*
 * The events to blast: ready-made in the form of one protocol, released by a window and a rate.
 *
 * Window: an event may leave only while fewer than `window` events are on their way, that is, not yet confirmed by
 * every reader. It makes saturation fair: no peer ever has to drop, and all of them carry the same backlog.
 */
#ifndef FEED_H
#define FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"

struct feed {
  /* One event as it goes over the wire, and where its number starts in it. */
  struct buffer record;
  size_t number_at;
  /* Events already sent, to send in all, confirmed by every reader. */
  uint64_t sent, total, confirmed;
  uint64_t window;
  /* Events per second; 0 is as fast as the window lets. */
  uint64_t rate;
  uint64_t started;
};

/* Prepares events of a format: `socketio`, `line`, `notification`, `redis`, `nats` or `mqtt`; unknown ones end the program. Only
   the first knows namespaces; the empty one is the main one. */
void feed_prepare(struct feed *feed, const char *format, const char *space, size_t payload);

void feed_start(struct feed *feed, uint64_t total, uint64_t window, uint64_t rate);

/* Appends what may leave now, some hundred kilobytes at most. Returns whether that was anything. */
bool feed_release(struct feed *feed, struct buffer *out);

/* Nanoseconds until a paced feed may release its next event; 0: now; UINT64_MAX: something must happen first. */
uint64_t feed_wait(const struct feed *feed);

#endif
