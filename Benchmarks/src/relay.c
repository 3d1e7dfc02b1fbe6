/*
 * The practical limit of a fan-out: an epoll loop in C that copies the lines of one upstream to every subscriber.
 * As in any such loop each line is copied into each subscriber's output, and each output is written once per turn.
 *
 *   relay --upstream PORT --socket PATH
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "buffer.h"
#include "failure.h"
#include "options.h"
#include "sockets.h"

/* Read per turn: what did best among 8, 16, 32, 64 and 128 KiB, so that the limit is a limit. */
enum { CHUNK = 32 << 10, CLIENTS = 20000 };

struct client {
  int fd;
  bool watched_for_room, dirty;
  struct buffer out;
};

struct relay {
  int epoll, upstream, listener;
  struct buffer in;
  /* By descriptor. */
  struct client *clients[CLIENTS];
  struct client *subscribers[CLIENTS], *dirty[CLIENTS];
  int subscriber_count, dirty_count;
};

static void watch(struct relay *r, int fd, int operation, uint32_t events) {
  struct epoll_event event = {.events = events, .data.fd = fd};
  if (epoll_ctl(r->epoll, operation, fd, &event)) fail("epoll_ctl");
}

static inline void put(struct relay *r, struct client *client, const char *bytes, size_t count) {
  buffer_append(&client->out, bytes, count);
  if (client->dirty) return;
  client->dirty = true;
  r->dirty[r->dirty_count++] = client;
}

static void fan_out(struct relay *r, const char *line, size_t count) {
  for (int i = 0; i < r->subscriber_count; i++) put(r, r->subscribers[i], line, count);
}

static void flush(struct relay *r, struct client *client) {
  if (!buffer_write(&client->out, client->fd)) client->out.start = client->out.end = 0;
  bool full = buffer_count(&client->out) > 0;
  if (full == client->watched_for_room) return;
  client->watched_for_room = full;
  watch(r, client->fd, EPOLL_CTL_MOD, full ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void flush_all(struct relay *r) {
  for (int i = 0; i < r->dirty_count; i++) {
    r->dirty[i]->dirty = false;
    flush(r, r->dirty[i]);
  }
  r->dirty_count = 0;
}

static void read_upstream(struct relay *r) {
  if (!buffer_read(&r->in, r->upstream, CHUNK)) exit(0);
  while (buffer_count(&r->in)) {
    const char *bytes = buffer_bytes(&r->in), *end = memchr(bytes, '\n', buffer_count(&r->in));
    if (!end) break;
    size_t count = (size_t)(end - bytes) + 1;
    fan_out(r, bytes, count);
    buffer_take(&r->in, count);
  }
}

static void accept_all(struct relay *r) {
  for (int fd; (fd = accept_next(r->listener)) >= 0;) {
    errno = 0;
    if (fd >= CLIENTS) fail("more than %d clients", CLIENTS);
    r->clients[fd] = calloc(1, sizeof **r->clients);
    if (!r->clients[fd]) fail("no memory for a client");
    r->clients[fd]->fd = fd;
    watch(r, fd, EPOLL_CTL_ADD, EPOLLIN);
  }
}

static void let_go(struct relay *r, struct client *client) {
  for (int i = 0; i < r->subscriber_count; i++)
    if (r->subscribers[i] == client) r->subscribers[i--] = r->subscribers[--r->subscriber_count];
  for (int i = 0; i < r->dirty_count; i++)
    if (r->dirty[i] == client) r->dirty[i--] = r->dirty[--r->dirty_count];
  r->clients[client->fd] = NULL;
  close(client->fd);
  buffer_free(&client->out);
  free(client);
}

/* A client says one line: whether it wants the events. */
static void read_client(struct relay *r, struct client *client) {
  char asked[64];
  ssize_t got = read(client->fd, asked, sizeof asked);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) return let_go(r, client);
  if (asked[0] == 'S') r->subscribers[r->subscriber_count++] = client;
  put(r, client, "ok\n", 3);
}

int main(int argc, char **argv) {
  static struct relay r;
  options_check(argc, argv, "--upstream --socket ");
  signal(SIGPIPE, SIG_IGN);
  r.epoll = epoll_create1(EPOLL_CLOEXEC);
  r.upstream = tcp_connect((uint16_t)option_number(argc, argv, "--upstream", 0));
  r.listener = unix_listen(option_text(argc, argv, "--socket", "relay.sock"));
  set_nonblocking(r.upstream);
  watch(&r, r.upstream, EPOLL_CTL_ADD, EPOLLIN);
  watch(&r, r.listener, EPOLL_CTL_ADD, EPOLLIN);
  for (;;) {
    struct epoll_event events[256];
    int count = epoll_wait(r.epoll, events, 256, -1);
    for (int i = 0; i < count; i++) {
      int fd = events[i].data.fd;
      if (fd == r.upstream) {
        read_upstream(&r);
      } else if (fd == r.listener) {
        accept_all(&r);
      } else {
        if (r.clients[fd] && events[i].events & EPOLLOUT) flush(&r, r.clients[fd]);
        if (r.clients[fd] && events[i].events & ~(uint32_t)EPOLLOUT) read_client(&r, r.clients[fd]);
      }
    }
    flush_all(&r);
  }
}
