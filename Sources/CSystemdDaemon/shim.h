#pragma once
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

/* The socket types are enumerators that Swift does not always see. */
/// Above zero for a Unix stream socket that listens.
static inline int gw_is_unix_listener(int descriptor) {
  return sd_is_socket_unix(descriptor, SOCK_STREAM, 1, 0, 0);
}
