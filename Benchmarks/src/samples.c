#include "samples.h"

#include <stdio.h>
#include <stdlib.h>

#include "failure.h"

void samples_add(struct samples *samples, uint64_t nanoseconds) {
  if (samples->count == samples->capacity) {
    samples->capacity = samples->capacity ? samples->capacity * 2 : 1024;
    samples->values = realloc(samples->values, samples->capacity * sizeof *samples->values);
    if (!samples->values) fail("no memory for samples");
  }
  samples->values[samples->count++] = nanoseconds;
}

static int ascending(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

static double at_fraction(const struct samples *samples, double fraction) {
  if (!samples->count) return 0;
  return (double)samples->values[(size_t)((double)(samples->count - 1) * fraction)] * 1e-3;
}

void samples_print(struct samples *samples) {
  qsort(samples->values, samples->count, sizeof *samples->values, ascending);
  printf("{\"n\":%zu,\"min\":%.2f,\"p50\":%.2f,\"p90\":%.2f,\"p99\":%.2f,\"max\":%.2f}", samples->count,
         at_fraction(samples, 0), at_fraction(samples, 0.5), at_fraction(samples, 0.9), at_fraction(samples, 0.99),
         at_fraction(samples, 1));
}
