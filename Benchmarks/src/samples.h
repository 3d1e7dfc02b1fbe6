/* Measured times and their percentiles. */
#ifndef SAMPLES_H
#define SAMPLES_H

#include <stddef.h>
#include <stdint.h>

/* A zeroed struct holds nothing. */
struct samples {
  uint64_t *values;
  size_t count, capacity;
};

void samples_add(struct samples *samples, uint64_t nanoseconds);

/* Prints `{"n":…,"min":…,"p50":…,"p90":…,"p99":…,"max":…}`, times in microseconds, on stdout. Sorts. */
void samples_print(struct samples *samples);

#endif
