/*
 * The time of a request: an event that the server acknowledges with its arguments.
 *
 *   pinger --direct PORT                  a minimal Socket.IO client, straight to the blaster
 *   pinger --socket PATH --url URL        the same request through gatewayd
 *       [--count N] [--warm-up N] [--payload BYTES] [--inflight N]
 *
 * Prints one JSON object: the times, requests per second and the CPU that this program used.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "clock.h"
#include "failure.h"
#include "options.h"
#include "samples.h"
#include "sockets.h"
#include "target.h"
#include "websocket.h"

struct pinger {
  int fd;
  bool direct;
  const char *url;
  struct buffer in, out;
  char *payload;
};

static void read_more(struct pinger *p) {
  if (!buffer_read(&p->in, p->fd, 64 << 10)) fail("the peer is gone");
}

static void write_out(struct pinger *p) {
  if (!buffer_write(&p->out, p->fd)) fail("the peer is gone");
}

/* The next Engine.IO packet; pings are answered on the way. The caller takes `frame_count` from the buffer. */
static struct ws_frame next_packet(struct pinger *p) {
  struct ws_frame frame;
  for (;;) {
    while (!buffer_count(&p->in) || !ws_next(&p->in, &frame)) read_more(p);
    if (frame.count != 1 || frame.payload[0] != '2') return frame;
    buffer_take(&p->in, frame.frame_count);
    ws_append(&p->out, WS_TEXT, "3", 1, true);
    write_out(p);
  }
}

static void join(struct pinger *p) {
  ws_ask(&p->out, "/socket.io/?EIO=4&transport=websocket");
  write_out(p);
  do read_more(p);
  while (!ws_accepted(&p->in));
  struct ws_frame open = next_packet(p);
  buffer_take(&p->in, open.frame_count);
  ws_append(&p->out, WS_TEXT, "40", 2, true);
  write_out(p);
  struct ws_frame accepted = next_packet(p);
  errno = 0;
  if (accepted.count < 2 || memcmp(accepted.payload, "40", 2) != 0) fail("the namespace was refused");
  buffer_take(&p->in, accepted.frame_count);
}

static void ask(struct pinger *p, unsigned long id) {
  if (p->direct) {
    struct buffer packet = {0};
    buffer_print(&packet, "42%lu[\"echo\",%s]", id, p->payload);
    ws_append(&p->out, WS_TEXT, buffer_bytes(&packet), buffer_count(&packet), true);
    buffer_free(&packet);
  } else {
    buffer_print(&p->out,
                 "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"method\":\"request\",\"params\":{\"%s\":\"%s\",\"event\":\"echo\","
                 "\"args\":[%s]}}\n",
                 id, target_member(p->url), p->url, p->payload);
  }
}

/* The id of the next reply, whose arguments are the request's. */
static unsigned long next_reply(struct pinger *p) {
  if (p->direct) {
    struct ws_frame frame = next_packet(p);
    unsigned long id = strtoul(frame.payload + 2, NULL, 10);
    if (memcmp(frame.payload, "43", 2) != 0 || !memmem(frame.payload, frame.count, p->payload, strlen(p->payload)))
      fail("not the echo: %.*s", (int)frame.count, frame.payload);
    buffer_take(&p->in, frame.frame_count);
    return id;
  }
  const char *end;
  while (!buffer_count(&p->in) || !(end = memchr(buffer_bytes(&p->in), '\n', buffer_count(&p->in)))) read_more(p);
  const char *line = buffer_bytes(&p->in);
  size_t count = (size_t)(end - line) + 1;
  const char *id = memmem(line, count, "\"id\":", 5);
  if (!id || !memmem(line, count, "\"result\"", 8) || !memmem(line, count, p->payload, strlen(p->payload)))
    fail("not the echo: %.*s", (int)count, line);
  unsigned long number = strtoul(id + 5, NULL, 10);
  buffer_take(&p->in, count);
  return number;
}

/* Asks `count` times with at most `inflight` unanswered; returns the seconds. */
static double ping(struct pinger *p, unsigned long count, unsigned long inflight, struct samples *times) {
  uint64_t *asked = calloc(count, sizeof *asked), begin = clock_now();
  if (!asked) fail("no memory");
  unsigned long sent = 0, answered = 0;
  while (answered < count) {
    while (sent < count && sent - answered < inflight) {
      asked[sent] = clock_now();
      ask(p, sent++);
    }
    write_out(p);
    unsigned long id = next_reply(p);
    errno = 0;
    if (id >= sent) fail("a reply to nothing: %lu", id);
    samples_add(times, clock_now() - asked[id]);
    answered++;
  }
  free(asked);
  return (double)(clock_now() - begin) * 1e-9;
}

static char *make_payload(size_t count) {
  char *text = malloc(count + 1);
  errno = 0;
  if (!text || count < 2) fail("a payload has at least 2 bytes");
  memset(text, 'x', count);
  text[0] = text[count - 1] = '"';
  text[count] = 0;
  return text;
}

int main(int argc, char **argv) {
  options_check(argc, argv, "--direct --socket --url --count --warm-up --payload --inflight ");
  uint16_t port = (uint16_t)option_number(argc, argv, "--direct", 0);
  const char *socket = option_text(argc, argv, "--socket", NULL);
  unsigned long count = option_number(argc, argv, "--count", 20000);
  unsigned long warm_up = option_number(argc, argv, "--warm-up", 1000);
  unsigned long inflight = option_number(argc, argv, "--inflight", 1);
  if (!port == !socket) fail("either --direct PORT or --socket PATH");
  struct pinger p = {
      .fd = port ? tcp_connect(port) : unix_connect(socket),
      .direct = port,
      .url = option_text(argc, argv, "--url", ""),
      .payload = make_payload(option_number(argc, argv, "--payload", 200)),
  };
  if (p.direct) join(&p);
  struct samples ignored = {0}, times = {0};
  ping(&p, warm_up, inflight, &ignored);
  struct cpu_use before = cpu_used();
  double seconds = ping(&p, count, inflight, &times);
  struct cpu_use after = cpu_used();
  printf("{\"seconds\":%.6f,\"requests_per_second\":%.0f,\"user\":%.3f,\"system\":%.3f,\"times\":", seconds,
         (double)count / seconds, after.user - before.user, after.system - before.system);
  samples_print(&times);
  printf("}\n");
}
