/*
 * What all clients of a reader have received: every event's number is checked, and the first number that not everybody
 * has yet is known without asking everybody.
 */
#ifndef TALLY_H
#define TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "payload.h"
#include "protocol.h"
#include "samples.h"

/* One client's place in the stream. */
struct place {
  /* The number of the next event, and the same as it will stand in the event. */
  uint64_t next;
  char digits[NUMBER_DIGITS];
  /* The length of the last event: the next one most likely has it too. */
  size_t guess;
};

struct tally {
  const struct protocol *protocol;
  int clients;
  uint64_t total, step;
  /* How many clients have reached each multiple of `step`. */
  uint32_t *reached;
  /* Every client has the first so many events. */
  uint64_t confirmed;
  uint64_t deliveries, bytes;
  /* Events missing (or out of order), and records that are no events, such as a notice of a gap. */
  uint64_t lost, others;
  /* NULL: latency is not looked at. */
  struct samples *latency;
};

/* Begins anew; the tally was zeroed or is one that was begun before. */
void tally_begin(struct tally *tally, const struct protocol *protocol, int clients, uint64_t total, uint64_t step);

void place_begin(struct place *place);

/* Takes the whole records at the front; returns their length. */
size_t tally_take(struct tally *tally, struct place *place, const char *bytes, size_t count);

#endif
