/*
 * The upstream of the load tests: sends ready-made events as fast as its reader lets it, and echoes acknowledgements.
 *
 *   blaster --control PATH [--format socketio|line|notification] [--payload BYTES]     listens, prints its TCP port
 *   blaster --control PATH --format redis|nats|mqtt --to PATH|PORT [--payload BYTES]   publishes to a broker's socket
 *
 *     --to-links last|all    the events go to the link that joined last (the default), or to every link
 *     --namespace /NAME      Socket.IO only: what the events belong to
 *
 * Control socket, one line each: `start TOTAL WINDOW RATE` begins (as soon as a link takes events), `confirm N` says
 * that every reader has the first N events.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "failure.h"
#include "feed.h"
#include "link.h"
#include "options.h"
#include "sockets.h"

/* By descriptor. */
enum { LINKS = 8192 };
static const uint64_t ping_interval = UINT64_C(25) * 1000000000;

struct blaster {
  int epoll, listener, control_listener, control;
  enum link_kind kind;
  struct buffer commands;
  struct feed feed;
  struct link *links[LINKS];
  /* Joined last; NULL while nobody joined. */
  struct link *target;
  /* Every link takes the events, which are made here first. */
  bool to_all;
  struct buffer batch;
  /* A start that waits for a link: total is 0 when there is none. */
  uint64_t asked_total, asked_window, asked_rate;
  uint64_t next_ping;
};

static void watch(struct blaster *b, int fd, int operation, uint32_t events) {
  struct epoll_event event = {.events = events, .data.fd = fd};
  if (epoll_ctl(b->epoll, operation, fd, &event)) fail("epoll_ctl");
}

static void close_link(struct blaster *b, struct link *link) {
  close(link->fd);
  buffer_free(&link->in);
  buffer_free(&link->out);
  if (b->target == link) b->target = NULL;
  b->links[link->fd] = NULL;
  free(link);
}

static void flush(struct blaster *b, struct link *link) {
  if (!buffer_write(&link->out, link->fd)) return close_link(b, link);
  bool full = buffer_count(&link->out) > 0;
  if (link->closing && !full) return close_link(b, link);
  if (full != link->watched_for_room) {
    link->watched_for_room = full;
    watch(b, link->fd, EPOLL_CTL_MOD, full ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }
}

static void open_link(struct blaster *b, int fd) {
  errno = 0;
  if (fd >= LINKS) fail("more than %d links", LINKS);
  struct link *link = b->links[fd] = malloc(sizeof *link);
  if (!link) fail("no memory for a link");
  link_open(link, fd, b->kind);
  watch(b, fd, EPOLL_CTL_ADD, EPOLLIN);
  if (link->joined) b->target = link;
  flush(b, link);
}

static void read_link(struct blaster *b, struct link *link) {
  if (!buffer_read(&link->in, link->fd, 64 << 10)) return close_link(b, link);
  bool joined = link->joined;
  link_receive(link);
  if (link->joined && !joined) b->target = link;
  if (!link->joined && b->target == link) b->target = NULL;
  flush(b, link);
}

static void obey(struct blaster *b, const char *line) {
  unsigned long long total, window, rate;
  errno = 0;
  if (sscanf(line, "confirm %llu", &total) == 1) {
    b->feed.confirmed = total;
  } else if (sscanf(line, "start %llu %llu %llu", &total, &window, &rate) == 3) {
    b->asked_total = total, b->asked_window = window, b->asked_rate = rate;
  } else {
    fail("not understood: %s", line);
  }
}

static void read_control(struct blaster *b) {
  if (!buffer_read(&b->commands, b->control, 4096)) {
    close(b->control);
    b->control = -1;
    b->commands.start = b->commands.end = 0;
    b->feed.total = b->asked_total = 0;
    return;
  }
  char *end;
  while (buffer_count(&b->commands) && (end = memchr(buffer_bytes(&b->commands), '\n', buffer_count(&b->commands)))) {
    *end = 0;
    obey(b, buffer_bytes(&b->commands));
    buffer_take(&b->commands, (size_t)(end + 1 - buffer_bytes(&b->commands)));
  }
}

/* The same events to every link; a link that does not read holds all. */
static uint64_t blast_all(struct blaster *b) {
  for (int fd = 0; fd < LINKS; fd++)
    if (b->links[fd] && buffer_count(&b->links[fd]->out)) return UINT64_MAX;
  if (!feed_release(&b->feed, &b->batch)) return feed_wait(&b->feed);
  for (int fd = 0; fd < LINKS; fd++) {
    struct link *link = b->links[fd];
    if (!link || !link->joined) continue;
    buffer_append(&link->out, buffer_bytes(&b->batch), buffer_count(&b->batch));
    flush(b, link);
  }
  buffer_take(&b->batch, buffer_count(&b->batch));
  return feed_wait(&b->feed);
}

/* Sends what may be sent; returns how long to sleep at most, in nanoseconds. */
static uint64_t blast(struct blaster *b) {
  struct link *link = b->target;
  if (!link) return UINT64_MAX;
  if (b->asked_total) {
    feed_start(&b->feed, b->asked_total, b->asked_window, b->asked_rate);
    b->asked_total = 0;
  }
  if (b->to_all) return blast_all(b);
  if (buffer_count(&link->out)) return UINT64_MAX;
  if (feed_release(&b->feed, &link->out)) flush(b, link);
  if (b->target && buffer_count(&link->out)) return UINT64_MAX;
  return feed_wait(&b->feed);
}

static void dispatch(struct blaster *b, const struct epoll_event *event) {
  int fd = event->data.fd;
  if (fd == b->listener) {
    for (int peer; (peer = accept_next(fd)) >= 0;) open_link(b, peer);
  } else if (fd == b->control_listener) {
    if (b->control >= 0) close(b->control);
    b->control = accept_next(fd);
    if (b->control >= 0) watch(b, b->control, EPOLL_CTL_ADD, EPOLLIN);
  } else if (fd == b->control) {
    read_control(b);
  } else {
    if (b->links[fd] && event->events & EPOLLOUT) flush(b, b->links[fd]);
    struct link *link = b->links[fd];
    if (link && event->events & ~(uint32_t)EPOLLOUT) read_link(b, link);
  }
}

static uint64_t ping_when_due(struct blaster *b) {
  uint64_t now = clock_now();
  if (now >= b->next_ping) {
    b->next_ping = now + ping_interval;
    for (int fd = 0; fd < LINKS; fd++) {
      if (!b->links[fd]) continue;
      link_ping(b->links[fd]);
      flush(b, b->links[fd]);
    }
  }
  return b->next_ping - now;
}

static enum link_kind kind_of(const char *format) {
  if (strcmp(format, "socketio") == 0) return LINK_SOCKETIO;
  if (strcmp(format, "redis") == 0) return LINK_REDIS;
  if (strcmp(format, "nats") == 0) return LINK_NATS;
  if (strcmp(format, "mqtt") == 0) return LINK_MQTT;
  return LINK_LINES;
}

static void set_up(struct blaster *b, int argc, char **argv) {
  options_check(argc, argv, "--control --format --payload --to --to-links --namespace ");
  const char *format = option_text(argc, argv, "--format", "socketio");
  const char *control = option_text(argc, argv, "--control", NULL);
  const char *to = option_text(argc, argv, "--to", NULL);
  if (!control) fail("--control PATH is needed");
  b->to_all = strcmp(option_text(argc, argv, "--to-links", "last"), "all") == 0;
  b->kind = kind_of(format);
  b->epoll = epoll_create1(EPOLL_CLOEXEC);
  b->control_listener = unix_listen(control);
  b->control = b->listener = -1;
  b->next_ping = clock_now() + ping_interval;
  watch(b, b->control_listener, EPOLL_CTL_ADD, EPOLLIN);
  feed_prepare(&b->feed, format, option_text(argc, argv, "--namespace", ""), option_number(argc, argv, "--payload", 200));
  uint16_t port = 0;
  if (to) {
    int fd = any_connect(to);
    set_nonblocking(fd);
    open_link(b, fd);
  } else {
    b->listener = tcp_listen(&port);
    watch(b, b->listener, EPOLL_CTL_ADD, EPOLLIN);
  }
  printf("%u\n", port);
  fflush(stdout);
}

int main(int argc, char **argv) {
  static struct blaster b;
  signal(SIGPIPE, SIG_IGN);
  set_up(&b, argc, argv);
  for (;;) {
    uint64_t sleep = ping_when_due(&b), feed = blast(&b);
    if (feed < sleep) sleep = feed;
    struct timespec timeout = {(time_t)(sleep / 1000000000u), (long)(sleep % 1000000000u)};
    struct epoll_event events[64];
    int count = epoll_pwait2(b.epoll, events, 64, &timeout, NULL);
    if (count < 0 && errno != EINTR) fail("epoll_pwait2");
    for (int i = 0; i < count; i++) dispatch(&b, &events[i]);
  }
}
