#define _GNU_SOURCE
#include "CLinux.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int gw_unix_socket(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

int gw_tcp_listen(const char *host, uint16_t port) {
  struct sockaddr_in six_less = {.sin_family = AF_INET, .sin_port = htons(port)};
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
  int is_six = inet_pton(AF_INET6, host, &six.sin6_addr) == 1;
  if (!is_six && inet_pton(AF_INET, host, &six_less.sin_addr) != 1) {
    errno = EINVAL;
    return -1;
  }
  int listener = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener < 0) return -1;
  int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (is_six) setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  const struct sockaddr *address = is_six ? (struct sockaddr *)&six : (struct sockaddr *)&six_less;
  if (bind(listener, address, is_six ? sizeof six : sizeof six_less) == 0 && listen(listener, 64) == 0) return listener;
  int reason = errno;
  close(listener);
  errno = reason;
  return -1;
}

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

int gw_epoll_wait(int set, struct gw_ready *ready, int capacity, int milliseconds) {
  struct epoll_event events[256];
  int count = epoll_wait(set, events, capacity < 256 ? capacity : 256, milliseconds);
  for (int i = 0; i < count; i++) {
    ready[i].tag = events[i].data.u64;
    ready[i].readiness = events[i].events;
  }
  return count;
}

/* Around `recv` and `send` glibc notes, in two atomic exchanges each, that the thread may be cancelled there. The daemon cancels
   none. */

ssize_t gw_receive(int socket, void *to, size_t limit) { return syscall(SYS_recvfrom, socket, to, limit, 0, NULL, NULL); }

ssize_t gw_send(int socket, const void *bytes, size_t count) {
  return syscall(SYS_sendto, socket, bytes, count, MSG_NOSIGNAL, NULL, 0);
}

int gw_reserve(int file, off_t size) { return fallocate(file, FALLOC_FL_KEEP_SIZE, 0, size); }

int gw_timer_make(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC); }

void gw_timer_set(int timer, int64_t nanoseconds) {
  /* Zero would switch the timer off instead of ringing at once. */
  if (nanoseconds < 1) nanoseconds = 1;
  struct itimerspec at = {.it_value = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000}};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

void gw_timer_take(int timer) {
  uint64_t count;
  ssize_t ignored = read(timer, &count, sizeof count);
  (void)ignored;
}

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

int gw_unacknowledged_bytes(int socket) {
  int count = 0;
  return ioctl(socket, SIOCOUTQ, &count) == 0 ? count : 0;
}

int gw_read_delivery(int socket, struct gw_delivery *delivery) {
  struct tcp_info info;
  socklen_t length = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) < 0) return -1;
  /* An older kernel says less. */
  if (length < offsetof(struct tcp_info, tcpi_notsent_bytes) + sizeof info.tcpi_notsent_bytes) return -1;
  delivery->acknowledged = info.tcpi_bytes_acked;
  delivery->is_waiting = info.tcpi_unacked > 0 || info.tcpi_notsent_bytes > 0;
  return 0;
}

void gw_limit_unacknowledged(int socket, uint32_t milliseconds) {
  unsigned limit = milliseconds;
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit, sizeof limit);
}

void gw_reset(int socket) {
  struct linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  /* Whoever closes it may first write a goodbye, as TLS does. */
  struct sockaddr nobody = {.sa_family = AF_UNSPEC};
  int ignored = connect(socket, &nobody, sizeof nobody);
  (void)ignored;
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

int gw_socket_cookie(int socket, uint64_t *cookie) {
  socklen_t length = sizeof *cookie;
  return getsockopt(socket, SOL_SOCKET, SO_COOKIE, cookie, &length) < 0 ? -1 : 0;
}

int gw_peer_groups(int socket, gid_t *groups, int capacity) {
#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif
  socklen_t length = (socklen_t)(sizeof(gid_t) * (unsigned)capacity);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &length) < 0 && errno != ERANGE) return -1;
  return (int)(length / sizeof(gid_t));
}

int gw_socket_pair(int *one, int *other) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0) return -1;
  *one = ends[0];
  *other = ends[1];
  return 0;
}

/* What the kernel takes in one message. */
#define DESCRIPTOR_LIMIT 253

int gw_send_descriptors(int socket, const int *descriptors, const char *marks, int count) {
  if (count < 1 || count > DESCRIPTOR_LIMIT) {
    errno = EINVAL;
    return -1;
  }
  struct iovec bytes = {.iov_base = (void *)marks, .iov_len = (size_t)count};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(DESCRIPTOR_LIMIT * sizeof(int))];
  } control;
  memset(&control, 0, sizeof control);
  size_t size = (size_t)count * sizeof(int);
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = CMSG_SPACE(size)};
  struct cmsghdr *part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(size);
  memcpy(CMSG_DATA(part), descriptors, size);
  return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

int gw_receive_descriptors(int socket, int *descriptors, char *marks, int capacity, int *sent) {
  struct iovec bytes = {.iov_base = marks, .iov_len = (size_t)capacity};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(DESCRIPTOR_LIMIT * sizeof(int))];
  } control;
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
  /* The kernel cuts off the descriptors for which the process has no room (MSG_CTRUNC), and never the bytes. */
  ssize_t length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  *sent = length > 0 ? (int)length : 0;
  int found = 0;
  if (length <= 0) return 0;
  for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int count = (int)((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    for (int i = 0; i < count; i++) {
      int descriptor;
      memcpy(&descriptor, CMSG_DATA(part) + (size_t)i * sizeof(int), sizeof(int));
      if (found < capacity) descriptors[found++] = descriptor; else close(descriptor);
    }
  }
  return found;
}

int gw_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC); }

bool gw_is_memory_short(const char *path, unsigned parts) {
  struct statfs facts;
  if (statfs(path, &facts) || facts.f_type != TMPFS_MAGIC) return false;
  return facts.f_bavail < facts.f_blocks / parts;
}

int gw_pipe(int *reading, int *writing) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return -1;
  *reading = ends[0];
  *writing = ends[1];
  return 0;
}

static int prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int output) {
  sigset_t all, none;
  int code = 0;
  sigfillset(&all);
  sigemptyset(&none);
  if (!code) code = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (!code) code = posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
  if (!code) code = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  if (!code) code = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
  if (!code) code = posix_spawn_file_actions_addchdir_np(actions, "/");
  if (!code) code = posix_spawnattr_setsigdefault(attributes, &all);
  if (!code) code = posix_spawnattr_setsigmask(attributes, &none);
  if (!code) code = posix_spawnattr_setpgroup(attributes, 0);
  short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP;
  return code ? code : posix_spawnattr_setflags(attributes, flags);
}

int gw_spawn(const char *path, char *const arguments[], char *const environment[], int output, pid_t *process) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int code = posix_spawn_file_actions_init(&actions);
  if (code) return code;
  code = posix_spawnattr_init(&attributes);
  if (!code) {
    code = prepare(&actions, &attributes, output);
    if (!code) code = posix_spawn(process, path, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return code;
}

void gw_keep_memory(int block, int free) {
  mallopt(M_MMAP_THRESHOLD, block);
  mallopt(M_TRIM_THRESHOLD, free);
}

void gw_give_back_memory(void) { malloc_trim(0); }

ptrdiff_t gw_free_memory(void) {
  struct mallinfo2 facts = mallinfo2();
  return facts.fordblks;
}

int gw_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

/* libcurl brings GnuTLS along for RTMP and LDAP, which nothing here speaks. GnuTLS asks for this symbol when it is loaded, and
   sets itself up, with PKCS #11 and all, unless it says 1 (gnutls.h, GNUTLS_SKIP_GLOBAL_INIT): 0.8 MiB of resident memory. */
__attribute__((visibility("default"))) int _gnutls_global_init_skip(void);
int _gnutls_global_init_skip(void) { return 1; }
