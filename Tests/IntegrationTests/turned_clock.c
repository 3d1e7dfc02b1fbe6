/* Preloaded into a program: its wall clock is ahead by the nanoseconds that stand, as eight bytes, in the file
   $TURNED_CLOCK. The monotonic clocks are left alone, as they are when somebody sets the machine's clock. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead(void) {
  static const volatile int64_t *map;
  static const int64_t nothing;
  if (map) return map;
  const char *path = getenv("TURNED_CLOCK");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *found = file < 0 ? MAP_FAILED : mmap(0, sizeof *map, PROT_READ, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  map = found == MAP_FAILED ? &nothing : found;
  return map;
}

int clock_gettime(clockid_t clock, struct timespec *value) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, value);
  if (result || clock != CLOCK_REALTIME) return result;
  int64_t sum = value->tv_sec * INT64_C(1000000000) + value->tv_nsec + *ahead();
  value->tv_sec = sum / 1000000000;
  value->tv_nsec = sum % 1000000000;
  return 0;
}
