// A disk that takes equally long for whatever it is to keep, loaded into a program before its libraries: how much is kept
// in one go then depends on the load alone. What it says to have kept is in the system's memory only.

#include <unistd.h>

enum { MICROSECONDS = 100000 };

static int keep(int descriptor) {
  (void)descriptor;
  return usleep(MICROSECONDS);
}

int fsync(int descriptor) { return keep(descriptor); }
int fdatasync(int descriptor) { return keep(descriptor); }
