// The clock of a machine on which a program takes no time: it moves while the program waits for the kernel, and stands still
// while it works. Loaded into a program before its libraries: how much a turn of its loop does then depends on the load alone,
// not on how slow it is under a tool or beside other programs.

#include <dlfcn.h>
#include <sys/epoll.h>
#include <time.h>

typedef int (*clock_function)(clockid_t, struct timespec *);
typedef int (*wait_function)(int, struct epoll_event *, int, int);

static clock_function real_clock;
static wait_function real_wait;
static _Thread_local struct timespec now __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void find(void) {
  real_clock = (clock_function)dlsym(RTLD_NEXT, "clock_gettime");
  real_wait = (wait_function)dlsym(RTLD_NEXT, "epoll_wait");
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  if (clock != CLOCK_BOOTTIME) return real_clock(clock, time);
  if (!now.tv_sec && real_clock(clock, &now)) return -1;
  *time = now;
  return 0;
}

int epoll_wait(int set, struct epoll_event *events, int limit, int milliseconds) {
  int count = real_wait(set, events, limit, milliseconds);
  now.tv_sec = 0;
  return count;
}
