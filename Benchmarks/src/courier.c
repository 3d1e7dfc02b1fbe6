/*
 * The practical limit of a request: the least that a process between a Unix socket and a Socket.IO server can do.
 * It takes the lines that `pinger` writes, finds id and arguments where they are known to stand, and blocks on nothing.
 *
 *   courier --upstream PORT --socket PATH            one local client at a time
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "buffer.h"
#include "failure.h"
#include "options.h"
#include "sockets.h"
#include "websocket.h"

struct courier {
  int epoll, upstream, listener, client;
  struct buffer from_upstream, to_upstream, from_client, to_client, packet;
};

static void watch(struct courier *c, int fd) {
  struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
  if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &event)) fail("epoll_ctl");
}

/* Upgrades and joins the default namespace, blocking. */
static void join(struct courier *c) {
  struct ws_frame frame;
  ws_ask(&c->to_upstream, "/socket.io/?EIO=4&transport=websocket");
  buffer_write(&c->to_upstream, c->upstream);
  do buffer_read(&c->from_upstream, c->upstream, 4096);
  while (!ws_accepted(&c->from_upstream));
  ws_append(&c->to_upstream, WS_TEXT, "40", 2, true);
  buffer_write(&c->to_upstream, c->upstream);
  for (int packets = 0; packets < 2; packets++) {
    while (!buffer_count(&c->from_upstream) || !ws_next(&c->from_upstream, &frame))
      if (!buffer_read(&c->from_upstream, c->upstream, 4096)) fail("the upstream is gone");
    buffer_take(&c->from_upstream, frame.frame_count);
  }
}

static size_t digits(const char *text) {
  size_t count = 0;
  while (text[count] >= '0' && text[count] <= '9') count++;
  return count;
}

/* `{"jsonrpc":"2.0","id":N,…,"args":[…]}}` becomes `42N["echo",…]`. */
static void forward_line(struct courier *c, const char *line, size_t count) {
  const char *id = line + strlen("{\"jsonrpc\":\"2.0\",\"id\":");
  const char *args = memmem(line, count, "\"args\":[", 8);
  errno = 0;
  if (!args) fail("not a request: %.*s", (int)count, line);
  args += 8;
  buffer_append(&c->packet, "42", 2);
  buffer_append(&c->packet, id, digits(id));
  buffer_append(&c->packet, "[\"echo\",", 8);
  buffer_append(&c->packet, args, (size_t)(line + count - 2 - args));
  ws_append(&c->to_upstream, WS_TEXT, buffer_bytes(&c->packet), buffer_count(&c->packet), true);
  buffer_take(&c->packet, buffer_count(&c->packet));
}

static void read_client(struct courier *c) {
  if (!buffer_read(&c->from_client, c->client, 64 << 10)) {
    close(c->client);
    c->client = -1;
    c->from_client.start = c->from_client.end = 0;
    return;
  }
  const char *end;
  while (buffer_count(&c->from_client) &&
         (end = memchr(buffer_bytes(&c->from_client), '\n', buffer_count(&c->from_client)))) {
    size_t count = (size_t)(end - buffer_bytes(&c->from_client));
    if (memmem(buffer_bytes(&c->from_client), count, "\"request\"", 9))
      forward_line(c, buffer_bytes(&c->from_client), count);
    buffer_take(&c->from_client, count + 1);
  }
}

/* `43N[…]` becomes `{"jsonrpc":"2.0","id":N,"result":{"args":[…]}}`. */
static void read_upstream(struct courier *c) {
  struct ws_frame frame;
  if (!buffer_read(&c->from_upstream, c->upstream, 64 << 10)) exit(0);
  while (buffer_count(&c->from_upstream) && ws_next(&c->from_upstream, &frame)) {
    if (frame.count > 2 && memcmp(frame.payload, "43", 2) == 0) {
      const char *id = frame.payload + 2, *args = id + digits(id);
      buffer_append(&c->to_client, "{\"jsonrpc\":\"2.0\",\"id\":", 22);
      buffer_append(&c->to_client, id, (size_t)(args - id));
      buffer_append(&c->to_client, ",\"result\":{\"args\":", 19);
      buffer_append(&c->to_client, args, (size_t)(frame.payload + frame.count - args));
      buffer_append(&c->to_client, "}}\n", 3);
    } else if (frame.count == 1 && frame.payload[0] == '2') {
      ws_append(&c->to_upstream, WS_TEXT, "3", 1, true);
    }
    buffer_take(&c->from_upstream, frame.frame_count);
  }
}

int main(int argc, char **argv) {
  options_check(argc, argv, "--upstream --socket ");
  struct courier c = {.epoll = epoll_create1(EPOLL_CLOEXEC), .client = -1};
  c.upstream = tcp_connect((uint16_t)option_number(argc, argv, "--upstream", 0));
  join(&c);
  c.listener = unix_listen(option_text(argc, argv, "--socket", "courier.sock"));
  set_nonblocking(c.upstream);
  watch(&c, c.upstream);
  watch(&c, c.listener);
  for (;;) {
    struct epoll_event events[8];
    int count = epoll_wait(c.epoll, events, 8, -1);
    for (int i = 0; i < count; i++) {
      int fd = events[i].data.fd;
      if (fd == c.upstream) {
        read_upstream(&c);
      } else if (fd == c.listener) {
        int next = accept_next(fd);
        if (c.client >= 0) close(c.client);
        c.client = next;
        if (next >= 0) watch(&c, next);
      } else {
        read_client(&c);
      }
    }
    if (!buffer_write(&c.to_upstream, c.upstream)) exit(0);
    if (c.client >= 0) buffer_write(&c.to_client, c.client);
  }
}
