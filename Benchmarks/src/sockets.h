/* Opening sockets. Every descriptor is close-on-exec; every failure ends the program. */
#ifndef SOCKETS_H
#define SOCKETS_H

#include <stdint.h>

/* Listens on a free port of 127.0.0.1, not blocking; stores the port. */
int tcp_listen(uint16_t *port);
/* Connects to a port of 127.0.0.1, blocking, without Nagle's delay. */
int tcp_connect(uint16_t port);
/* Listens on a Unix socket, not blocking; a file that is in the way is removed. */
int unix_listen(const char *path);
/* Connects to a Unix socket, blocking. */
int unix_connect(const char *path);
/* Connects to a Unix socket, or to a port of 127.0.0.1 where that is all that stands there; blocking. */
int any_connect(const char *path_or_port);
/* Accepts one connection, not blocking and without Nagle's delay; -1 when there is none. */
int accept_next(int listener);
void set_nonblocking(int fd);

#endif
