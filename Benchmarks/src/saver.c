/*
 * Messages that have to be on disk before they are answered: each of N clients sends one, waits for its answer, and sends
 * the next.
 *
 *   saver --protocol gatewayd|redis --socket PATH --url URL [--clients N] [--count N] [--warm-up N] [--payload BYTES]
 *
 * Prints one JSON object: messages per second and the times of the answers.
 */
#include <errno.h>
#include <poll.h>
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

enum { CLIENT_LIMIT = 1024 };

struct saver {
  int fd;
  uint64_t asked;
  struct buffer in, out;
};

static const char *url;
static char *payload;
static bool redis;

static void ask(struct saver *s, unsigned long id) {
  if (redis) {
    buffer_print(&s->out, "*5\r\n$4\r\nXADD\r\n$1\r\ns\r\n$1\r\n*\r\n$1\r\nf\r\n$%zu\r\n%s\r\n", strlen(payload), payload);
  } else {
    buffer_print(&s->out,
                 "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"method\":\"send\",\"params\":{\"%s\":\"%s\",\"event\":\"save\","
                 "\"delivery\":\"durable\",\"args\":[\"%s\"]}}\n",
                 id, target_member(url), url, payload);
  }
  s->asked = clock_now();
  if (!buffer_write(&s->out, s->fd)) fail("the peer is gone");
}

/* Whether an answer is complete; takes it. A redis id is one bulk string: two lines. */
static bool answered(struct saver *s) {
  const char *bytes = buffer_bytes(&s->in), *end = memchr(bytes, '\n', buffer_count(&s->in));
  if (end && redis) end = memchr(end + 1, '\n', buffer_count(&s->in) - (size_t)(end + 1 - bytes));
  if (!end) return false;
  size_t count = (size_t)(end - bytes) + 1;
  errno = 0;
  if (redis ? bytes[0] != '$' : !memmem(bytes, count, "\"durable\"", 9)) fail("refused: %.*s", (int)count, bytes);
  buffer_take(&s->in, count);
  return true;
}

/* Sends `count` messages over all clients; returns the seconds. */
static double save(struct saver *savers, unsigned long clients, unsigned long count, struct samples *times) {
  static struct pollfd ready[CLIENT_LIMIT];
  unsigned long asked = 0, done = 0;
  uint64_t begin = clock_now();
  for (unsigned long i = 0; i < clients; i++) ready[i] = (struct pollfd){.fd = savers[i].fd, .events = POLLIN};
  for (unsigned long i = 0; i < clients && asked < count; i++) ask(&savers[i], asked++);
  while (done < count) {
    if (poll(ready, clients, -1) < 0) fail("poll");
    for (unsigned long i = 0; i < clients; i++) {
      if (!ready[i].revents) continue;
      if (!buffer_read(&savers[i].in, savers[i].fd, 64 << 10)) fail("the peer is gone");
      if (!answered(&savers[i])) continue;
      samples_add(times, clock_now() - savers[i].asked);
      done++;
      if (asked < count) ask(&savers[i], asked++);
    }
  }
  return (double)(clock_now() - begin) * 1e-9;
}

int main(int argc, char **argv) {
  options_check(argc, argv, "--protocol --socket --url --clients --count --warm-up --payload ");
  redis = strcmp(option_text(argc, argv, "--protocol", "gatewayd"), "redis") == 0;
  const char *socket = option_text(argc, argv, "--socket", "");
  url = option_text(argc, argv, "--url", "");
  unsigned long clients = option_number(argc, argv, "--clients", 1);
  unsigned long count = option_number(argc, argv, "--count", 20000);
  size_t size = option_number(argc, argv, "--payload", 200);
  errno = 0;
  if (clients < 1 || clients > CLIENT_LIMIT) fail("1 to %d clients", CLIENT_LIMIT);
  static struct saver savers[CLIENT_LIMIT];
  for (unsigned long i = 0; i < clients; i++) savers[i].fd = unix_connect(socket);
  payload = malloc(size + 1);
  if (!payload) fail("no memory");
  memset(payload, 'x', size);
  payload[size] = 0;
  struct samples ignored = {0}, times = {0};
  save(savers, clients, option_number(argc, argv, "--warm-up", 1000), &ignored);
  double seconds = save(savers, clients, count, &times);
  printf("{\"seconds\":%.6f,\"messages_per_second\":%.0f,\"times\":", seconds, (double)count / seconds);
  samples_print(&times);
  printf("}\n");
}
