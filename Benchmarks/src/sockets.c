#include "sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "failure.h"

static const int yes = 1;

static struct sockaddr_in loopback(uint16_t port) {
  return (struct sockaddr_in){
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static struct sockaddr_un unix_address(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) fail("socket path too long: %s", path);
  strcpy(address.sun_path, path);
  return address;
}

int tcp_listen(uint16_t *port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  struct sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) || listen(fd, 128) ||
      getsockname(fd, (struct sockaddr *)&address, &length))
    fail("cannot listen on 127.0.0.1");
  *port = ntohs(address.sin_port);
  return fd;
}

int tcp_connect(uint16_t port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = loopback(port);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address))
    fail("cannot connect to 127.0.0.1:%u", port);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  return fd;
}

int unix_listen(const char *path) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  struct sockaddr_un address = unix_address(path);
  unlink(path);
  if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 1024))
    fail("cannot listen on %s", path);
  return fd;
}

int unix_connect(const char *path) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_un address = unix_address(path);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) fail("cannot connect to %s", path);
  return fd;
}

int accept_next(int listener) {
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED) fail("accept");
  if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  errno = 0;
  return fd;
}

void set_nonblocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

int any_connect(const char *path_or_port) {
  char *end;
  unsigned long port = strtoul(path_or_port, &end, 10);
  return *end ? unix_connect(path_or_port) : tcp_connect((uint16_t)port);
}
