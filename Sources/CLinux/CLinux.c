#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

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
