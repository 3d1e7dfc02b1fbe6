// The clocks of a machine on which a program takes no time: they stand still while it works, and move when it asks the kernel
// what is ready. Loaded into a program before its libraries: how much a turn of its loop does then depends on the load alone, not
// on how slow it is under a tool or beside other programs. Nothing ends by time within a turn, and in a thread that never asks
// the kernel time does not pass.

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

typedef int (*clock_function)(clockid_t, struct timespec *);
typedef int (*wait_function)(int, struct epoll_event *, int, int);

enum { BILLION = 1000000000 };

static _Thread_local struct timespec now __attribute__((tls_model("initial-exec")));
static _Thread_local bool stands __attribute__((tls_model("initial-exec")));
// How far the wall clock is ahead. It is not set meanwhile: the program compares the two.
static struct timespec ahead;

static void *real(const char *name) {
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) abort();
  return found;
}

static int look(clockid_t clock, struct timespec *time) {
  static clock_function function;
  if (!function) function = (clock_function)real("clock_gettime");
  return function(clock, time);
}

static void find_lead(void) {
  struct timespec wall;
  if (look(CLOCK_REALTIME, &wall)) abort();
  ahead.tv_sec = wall.tv_sec - now.tv_sec;
  ahead.tv_nsec = wall.tv_nsec - now.tv_nsec;
  if (ahead.tv_nsec < 0) {
    ahead.tv_sec--;
    ahead.tv_nsec += BILLION;
  }
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (clock != CLOCK_BOOTTIME && clock != CLOCK_REALTIME) return look(clock, time);
  if (!stands) {
    if (look(CLOCK_BOOTTIME, &now)) return -1;
    stands = true;
  }
  *time = now;
  if (clock == CLOCK_REALTIME) {
    if (!ahead.tv_sec) find_lead();
    time->tv_sec += ahead.tv_sec;
    time->tv_nsec += ahead.tv_nsec;
    if (time->tv_nsec >= BILLION) {
      time->tv_sec++;
      time->tv_nsec -= BILLION;
    }
  }
  return 0;
}

int epoll_wait(int set, struct epoll_event *events, int limit, int milliseconds) {
  static wait_function function;
  if (!function) function = (wait_function)real("epoll_wait");
  int count = function(set, events, limit, milliseconds);
  stands = false;
  return count;
}
