#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <sys/socket.h>

int gw_accept(int listener) { return accept4(listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC); }

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
  if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &length) < 0) {
    if (errno != ERANGE) return -1;
    return capacity;
  }
  return (int)(length / sizeof(gid_t));
}
