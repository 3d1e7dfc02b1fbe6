#include "tally.h"

#include <stdlib.h>

#include "clock.h"
#include "failure.h"

void tally_begin(struct tally *tally, const struct protocol *protocol, int clients, uint64_t total, uint64_t step) {
  free(tally->reached);
  *tally = (struct tally){.protocol = protocol, .clients = clients, .total = total, .step = step};
  tally->reached = calloc(total / step + 2, sizeof *tally->reached);
  if (!tally->reached) fail("no memory for the tally");
}

void place_begin(struct place *place) {
  *place = (struct place){0};
  digits_write(place->digits, NUMBER_DIGITS, 0);
}

/* Tells the tally that a place moved on from `before`. */
static void note_progress(struct tally *tally, const struct place *place, uint64_t before) {
  uint64_t mark = before / tally->step + 1, last = place->next / tally->step;
  if (place->next == tally->total && tally->total % tally->step) last++;
  for (; mark <= last; mark++) {
    if (++tally->reached[mark] < (uint32_t)tally->clients) continue;
    uint64_t confirmed = mark * tally->step;
    tally->confirmed = confirmed < tally->total ? confirmed : tally->total;
  }
}

/* A record whose number is not the expected one, or no event at all. */
static void take_unexpected(struct tally *tally, struct place *place, const char *number) {
  uint64_t value = digits_read(number, NUMBER_DIGITS);
  if (value >= tally->total) {
    tally->others++;
    return;
  }
  tally->deliveries++;
  tally->lost += value > place->next ? value - place->next : 1;
  if (value < place->next) return;
  place->next = value + 1;
  digits_write(place->digits, NUMBER_DIGITS, place->next);
}

size_t tally_take(struct tally *tally, struct place *place, const char *bytes, size_t count) {
  const size_t behind = tally->protocol->tail + NUMBER_DIGITS;
  const char last = tally->protocol->last;
  uint64_t before = place->next, now = tally->latency ? clock_now() : 0;
  size_t at = 0;
  while (at < count) {
    size_t length = place->guess;
    /* The usual case: the event is as long as the one before and has the next number. */
    if (!length || length > count - at || bytes[at + length - 1] != last ||
        memcmp(bytes + at + length - behind, place->digits, NUMBER_DIGITS) != 0) {
      length = tally->protocol->record(bytes + at, count - at);
      if (!length) break;
      place->guess = length > behind ? length : 0;
    }
    const char *number = bytes + at + length - behind;
    if (length > behind && memcmp(number, place->digits, NUMBER_DIGITS) == 0) {
      tally->deliveries++;
      place->next++;
      digits_advance(place->digits, NUMBER_DIGITS);
      if (tally->latency) samples_add(tally->latency, now - digits_read(number - 1 - TIME_DIGITS, TIME_DIGITS));
    } else if (length > behind) {
      take_unexpected(tally, place, number);
    } else {
      tally->others++;
    }
    at += length;
  }
  tally->bytes += at;
  if (place->next != before) note_progress(tally, place, before);
  return at;
}
