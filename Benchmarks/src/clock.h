/* Time and the CPU that this process used. */
#ifndef CLOCK_H
#define CLOCK_H

#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

/* Nanoseconds on the monotonic clock, which all processes of one machine share. */
static inline uint64_t clock_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Seconds of CPU that this process spent so far, in user and in system mode. */
struct cpu_use {
  double user, system;
};

static inline struct cpu_use cpu_used(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return (struct cpu_use){(double)use.ru_utime.tv_sec + (double)use.ru_utime.tv_usec * 1e-6,
                          (double)use.ru_stime.tv_sec + (double)use.ru_stime.tv_usec * 1e-6};
}

#endif
