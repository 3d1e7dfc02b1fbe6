#pragma once
/* The few Linux calls that the Glibc module does not offer to Swift (they hide behind _GNU_SOURCE).
   This is a C target of its own because defining _GNU_SOURCE in an imported header changes glibc's types. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/types.h>

/// A Unix stream socket, non-blocking and close-on-exec from birth. -1 and errno on failure.
int gw_unix_socket(void);

/// A stream socket that listens on a numeric IPv4 or IPv6 address, non-blocking and close-on-exec from birth. -1 and
/// errno on failure; EINVAL for what is no such address.
int gw_tcp_listen(const char *host, uint16_t port);

/// Accepts one connection; the descriptor is non-blocking and close-on-exec from birth. -1 and errno on failure.
int gw_accept(int listener);

/* Epoll with constants and a structure of our own: sys/epoll.h reaches Swift through libsystemd's headers too, and a
   header that two modules include is seen by chance. */
#define GW_READABLE 0x001u
#define GW_WRITABLE 0x004u
#define GW_FAILED 0x008u
#define GW_HUNG_UP 0x010u

/// One ready member of an epoll set.
struct gw_ready {
  uint64_t tag;
  uint32_t readiness;
};

/// An epoll set, close-on-exec. -1 and errno on failure.
int gw_epoll_make(void);
/// Begins to watch a descriptor. 0, or -1 and errno.
int gw_epoll_add(int set, int descriptor, uint32_t interest, uint64_t tag);
/// Changes what a member is watched for. 0, or -1 and errno.
int gw_epoll_modify(int set, int descriptor, uint32_t interest, uint64_t tag);
/// Stops watching. 0, or -1 and errno.
int gw_epoll_remove(int set, int descriptor);
/// What is ready, at most capacity (256 at most) members, after sleeping so many milliseconds at most; -1 sleeps
/// without a limit. Their count, or -1 and errno.
int gw_epoll_wait(int set, struct gw_ready *ready, int capacity, int milliseconds);

/// Reads at most so many bytes. Like recv(2).
ssize_t gw_receive(int socket, void *to, size_t limit);
/// Writes without raising SIGPIPE. Like send(2).
ssize_t gw_send(int socket, const void *bytes, size_t count);

/// Gives a file that is open blocks of the disk up to a size, which it does not get by that. 0, or -1 and errno.
int gw_reserve(int file, off_t size);

/// A timer on the clock that goes on while the machine sleeps: readable from its time on. -1 and errno.
int gw_timer_make(void);
/// Sets a timer to a time in nanoseconds of that clock, which also makes it unreadable until then.
void gw_timer_set(int timer, int64_t nanoseconds);
/// Makes a timer unreadable.
void gw_timer_take(int timer);

/// A descriptor that becomes readable whenever the wall clock is set, which a resume from suspend does too. -1 and
/// errno.
int gw_clock_watch(void);
/// Makes it unreadable until the next time.
void gw_clock_rearm(int watch);

/// Text of a numeric address of either family, as inet_ntop(3) writes it.
struct gw_address {
  char text[46];
};
/// The far end's address of an Internet socket; empty for another socket.
struct gw_address gw_peer_address(int socket);

/// Bytes of a TCP socket that the far end's machine has not acknowledged; 0 for another one.
int gw_unacknowledged_bytes(int socket);
/// How far the far end's machine has come with what a TCP socket was given.
struct gw_delivery {
  /// Bytes that it has acknowledged since the connection began.
  uint64_t acknowledged;
  /// Whether it has not acknowledged all.
  int is_waiting;
};
/// 0, or -1 for another socket, and where the kernel does not say it.
int gw_read_delivery(int socket, struct gw_delivery *delivery);
/// A TCP socket ends when bytes are unacknowledged for so many milliseconds, tcp(7).
void gw_limit_unacknowledged(int socket, uint32_t milliseconds);
/// Ends a TCP socket's connection by a reset, which forgets what it has not sent; it can only be closed then.
void gw_reset(int socket);

/// The peer's process, user and group, as the kernel recorded them at connect. 0, or -1 and errno.
int gw_peer_credentials(int socket, pid_t *pid, uid_t *uid, gid_t *gid);

/// By what the kernel tells a socket from all others as long as it lives. 0, or -1 and errno.
int gw_socket_cookie(int socket, uint64_t *cookie);

/// The peer's supplementary groups. Returns their count, or -1 and errno. A count above capacity means that none was
/// stored: call again with room for that many.
int gw_peer_groups(int socket, gid_t *groups, int capacity);

/// A pair of sockets that keep messages apart, close-on-exec and non-blocking from birth. 0, or -1 and errno.
int gw_socket_pair(int *one, int *other);

/// Sends a message with so many descriptors (253 at most), and a byte for each of them. 0, or -1 and errno.
int gw_send_descriptors(int socket, const int *descriptors, const char *marks, int count);

/// Takes a message with at most so many descriptors (253 at most) out: close-on-exec, and non-blocking as they were.
/// Their count. `sent` is how many the message had, and how many bytes there are: more than were taken where the process
/// has no room for the others, and 0 where there is no message.
int gw_receive_descriptors(int socket, int *descriptors, char *marks, int capacity, int *sent);

/// An empty file in memory without a name in any folder, close-on-exec. -1 and errno on failure.
int gw_memory_file(const char *name);

/// Whether a path lies in a file system in memory (tmpfs) of which less than one part in so many is free.
bool gw_is_memory_short(const char *path, unsigned parts);

/// A pipe, both ends close-on-exec from birth. 0, or -1 and errno.
int gw_pipe(int *reading, int *writing);

/// Starts a program: in a process group of its own, in /, signals as a program expects them, standard output on the
/// given descriptor, standard input and standard error on /dev/null, no other descriptor. 0, or an errno value.
int gw_spawn(const char *path, char *const arguments[], char *const environment[], int output, pid_t *process);

/// Makes malloc(3) take only blocks from this size on each by itself from the kernel, and keep at most so many free
/// bytes at the end of its memory, for ever. Left to itself it raises its limits with each large block that is freed.
void gw_keep_memory(int block, int free);

/// Gives all free memory of malloc(3) back to the kernel.
void gw_give_back_memory(void);

/// Bytes that malloc(3) holds free, with or without memory behind them.
ptrdiff_t gw_free_memory(void);

/// Makes the kernel write no core dump of this process, whatever the limits say, and lets no process of the same user
/// look into its memory. 0, or -1 and errno.
int gw_forbid_dumps(void);
