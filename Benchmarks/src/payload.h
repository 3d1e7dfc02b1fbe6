/*
 * The argument of every event: a JSON string whose text ends with the time of sending and the event's number, so that
 * a reader can check order, loss and latency whatever protocol carried it:
 *
 *     "xxxx…xxxx TTTTTTTTTTTTTTTTTTT NNNNNNNNNN"
 *
 * T: nanoseconds of the monotonic clock, written for paced events only (zeros in a flood); N: from 0.
 */
#ifndef PAYLOAD_H
#define PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

enum { NUMBER_DIGITS = 10, TIME_DIGITS = 19, PAYLOAD_MINIMUM = 2 + 1 + NUMBER_DIGITS + 1 + TIME_DIGITS };

/* Writes a decimal number, filled with zeros on the left. */
static inline void digits_write(char *at, int digits, uint64_t value) {
  for (int i = digits; i-- > 0; value /= 10) at[i] = (char)('0' + value % 10);
}

/* Reads one; UINT64_MAX when something is no digit. */
static inline uint64_t digits_read(const char *at, int digits) {
  uint64_t value = 0;
  for (int i = 0; i < digits; i++) {
    if (at[i] < '0' || at[i] > '9') return UINT64_MAX;
    value = value * 10 + (uint64_t)(at[i] - '0');
  }
  return value;
}

/* Adds one to a decimal number in place. */
static inline void digits_advance(char *at, int digits) {
  for (int i = digits; i-- > 0;) {
    if (at[i] != '9') {
      at[i]++;
      return;
    }
    at[i] = '0';
  }
}

#endif
