#define _GNU_SOURCE
#include "CLinux.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int gw_unix_socket(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

int gw_accept(int listener) { return accept4(listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC); }

_Static_assert(GW_READABLE == EPOLLIN && GW_WRITABLE == EPOLLOUT, "epoll's bits");
_Static_assert(GW_FAILED == EPOLLERR && GW_HUNG_UP == EPOLLHUP, "epoll's bits");

int gw_epoll_make(void) { return epoll_create1(EPOLL_CLOEXEC); }

static int control(int set, int operation, int descriptor, uint32_t interest, uint64_t tag) {
  struct epoll_event event = {.events = interest, .data.u64 = tag};
  return epoll_ctl(set, operation, descriptor, &event);
}

int gw_epoll_add(int set, int descriptor, uint32_t interest, uint64_t tag) {
  return control(set, EPOLL_CTL_ADD, descriptor, interest, tag);
}

int gw_epoll_modify(int set, int descriptor, uint32_t interest, uint64_t tag) {
  return control(set, EPOLL_CTL_MOD, descriptor, interest, tag);
}

int gw_epoll_remove(int set, int descriptor) { return control(set, EPOLL_CTL_DEL, descriptor, 0, 0); }

int gw_epoll_poll(int set, struct gw_ready *ready, int capacity) {
  struct epoll_event events[256];
  int count = epoll_wait(set, events, capacity < 256 ? capacity : 256, 0);
  for (int i = 0; i < count; i++) {
    ready[i].tag = events[i].data.u64;
    ready[i].readiness = events[i].events;
  }
  return count;
}

ssize_t gw_send(int socket, const void *bytes, size_t count) { return send(socket, bytes, count, MSG_NOSIGNAL); }

static void arm(int watch) {
  /* The time never comes; what matters is the cancellation. */
  struct itimerspec never = {.it_value = {.tv_sec = (time_t)1 << 32}};
  timerfd_settime(watch, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL);
}

int gw_clock_watch(void) {
  int watch = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (watch >= 0) arm(watch);
  return watch;
}

void gw_clock_rearm(int watch) {
  uint64_t count;
  /* Fails with ECANCELED, and that is the message. */
  ssize_t ignored = read(watch, &count, sizeof count);
  (void)ignored;
  arm(watch);
}

struct gw_address gw_peer_address(int socket) {
  struct gw_address result = {0};
  struct sockaddr_storage peer;
  socklen_t length = sizeof peer;
  if (getpeername(socket, (struct sockaddr *)&peer, &length) < 0) return result;
  const void *address = NULL;
  if (peer.ss_family == AF_INET) address = &((const struct sockaddr_in *)&peer)->sin_addr;
  if (peer.ss_family == AF_INET6) address = &((const struct sockaddr_in6 *)&peer)->sin6_addr;
  if (address && !inet_ntop(peer.ss_family, address, result.text, sizeof result.text)) result.text[0] = 0;
  return result;
}

int gw_peer_credentials(int socket, pid_t *pid, uid_t *uid, gid_t *gid) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) return -1;
  *pid = peer.pid;
  *uid = peer.uid;
  *gid = peer.gid;
  return 0;
}

int gw_peer_groups(int socket, gid_t *groups, int capacity) {
#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif
  socklen_t length = (socklen_t)(sizeof(gid_t) * (unsigned)capacity);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &length) < 0 && errno != ERANGE) return -1;
  return (int)(length / sizeof(gid_t));
}
