#pragma once
/* The few Linux calls that the Glibc module does not offer to Swift (they hide behind _GNU_SOURCE).
   This is a C target of its own because defining _GNU_SOURCE in an imported header changes glibc's types. */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/types.h>

/// Accepts one connection; the descriptor is non-blocking and close-on-exec from birth. -1 and errno on failure.
int gw_accept(int listener);

/// The peer's process, user and group, as the kernel recorded them at connect. 0, or -1 and errno.
int gw_peer_credentials(int socket, pid_t *pid, uid_t *uid, gid_t *gid);

/// The peer's supplementary groups. Returns their count (at most capacity are stored), or -1 and errno.
int gw_peer_groups(int socket, gid_t *groups, int capacity);
