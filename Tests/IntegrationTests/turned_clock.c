/* Preloaded into a program: its clocks are ahead by the nanoseconds that stand in the file $TURNED_CLOCK, as eight bytes
   each: first the wall clock, then, where the file has so much, what the machine has slept since. With the first alone the
   monotonic clocks are left alone, as they are when somebody sets the machine's clock; a sleep lets CLOCK_BOOTTIME run
   ahead.

   $TURNED_CLOCK.bell, where it is a pipe, takes the place of the timer by which a program hears that the clock was set:
   whoever writes eight bytes into it lets the program hear it, as the kernel does after a sleep. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)

enum { AHEAD, SLEPT, COUNT };

static int64_t turned(int which) {
  static const volatile int64_t *map;
  static const int64_t nothing[COUNT];
  static off_t size = sizeof nothing;
  if (!map) {
    const char *path = getenv("TURNED_CLOCK");
    struct stat about;
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *found = file < 0 || fstat(file, &about) ? MAP_FAILED : mmap(0, sizeof nothing, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (found != MAP_FAILED) size = about.st_size;
    map = found == MAP_FAILED ? nothing : found;
  }
  return size >= (which + 1) * (off_t)sizeof *map ? map[which] : 0;
}

static void add(struct timespec *value, int64_t nanoseconds) {
  int64_t sum = value->tv_sec * SECOND + value->tv_nsec + nanoseconds;
  if (sum < 1) sum = 1;
  value->tv_sec = sum / SECOND;
  value->tv_nsec = sum % SECOND;
}

int clock_gettime(clockid_t clock, struct timespec *value) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, value);
  if (!result && clock == CLOCK_REALTIME) add(value, turned(AHEAD));
  if (!result && clock == CLOCK_BOOTTIME) add(value, turned(SLEPT));
  return result;
}

/* The timers that go on while the machine sleeps, and what they are set to by the program's clock. */
static struct timer {
  int descriptor, flags;
  struct itimerspec at;
} timers[16];
static int timer_count, bell = -1;

static int set(int descriptor, int flags, const struct itimerspec *at, struct itimerspec *old) {
  static int (*real)(int, int, const struct itimerspec *, struct itimerspec *);
  if (!real) real = (int (*)(int, int, const struct itimerspec *, struct itimerspec *))dlsym(RTLD_NEXT, "timerfd_settime");
  return real(descriptor, flags, at, old);
}

static int arm(const struct timer *timer, struct itimerspec *old) {
  struct itimerspec at = timer->at;
  int is_set = at.it_value.tv_sec || at.it_value.tv_nsec;
  if (is_set && timer->flags & TFD_TIMER_ABSTIME) add(&at.it_value, -turned(SLEPT));
  return set(timer->descriptor, timer->flags, &at, old);
}

int timerfd_create(int clock, int flags) {
  static int (*real)(int, int);
  if (!real) real = (int (*)(int, int))dlsym(RTLD_NEXT, "timerfd_create");
  const char *path = getenv("TURNED_CLOCK");
  char name[4096];
  if (clock == CLOCK_REALTIME && path && bell < 0) {
    snprintf(name, sizeof name, "%s.bell", path);
    bell = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (bell >= 0) return bell;
  }
  int descriptor = real(clock, flags);
  if (descriptor >= 0 && clock == CLOCK_BOOTTIME && timer_count < 16) timers[timer_count++].descriptor = descriptor;
  return descriptor;
}

int timerfd_settime(int descriptor, int flags, const struct itimerspec *at, struct itimerspec *old) {
  if (descriptor == bell) {
    /* It has rung: what was due during the sleep is due now. */
    for (int index = 0; index < timer_count; index++) arm(&timers[index], NULL);
    return 0;
  }
  for (int index = 0; index < timer_count; index++) {
    if (timers[index].descriptor != descriptor) continue;
    timers[index].flags = flags;
    timers[index].at = *at;
    return arm(&timers[index], old);
  }
  return set(descriptor, flags, at, old);
}
