/*
 * The subscriber of the load tests, the same for every peer: many clients in one epoll loop.
 *
 *   reader --protocol NAME --socket PATH|PORT --clients N [--subscriptions N] [--url URL]
 *          [--control PATH --events N --window N [--rate N]] [--chunk BYTES]
 *
 * Connects and subscribes, prints `ready`, waits for a line on stdin. With `--control` it then starts the blaster there,
 * confirms what all clients have, and prints one JSON object when everything arrived (or nothing came for ten seconds).
 * Each further line is a further run of the same clients. A chunk, 256 KiB, has to hold the largest record.
 * The clients stay until stdin ends, so that the peer's memory can be looked at.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "failure.h"
#include "options.h"
#include "protocol.h"
#include "sockets.h"
#include "tally.h"

enum { CHUNK = 256 << 10, PATIENCE_MS = 10000 };

struct client {
  int fd;
  int awaited_answers;
  struct place place;
  /* The beginning of a record whose rest has not arrived. */
  struct buffer rest;
};

struct reader {
  const struct protocol *protocol;
  struct wish wish;
  struct client *clients;
  int count, epoll, control;
  struct tally tally;
  /* What has been confirmed to the blaster. */
  uint64_t told;
  /* Shared by all clients: the rest of one goes to its front before more is read behind it. */
  char *chunk;
  size_t chunk_size;
};

static void connect_client(struct reader *r, int index, const char *path) {
  struct client *client = &r->clients[index];
  struct buffer greeting = {0};
  client->fd = any_connect(path);
  client->awaited_answers = r->protocol->greet(&greeting, &r->wish, index);
  place_begin(&client->place);
  if (!buffer_write(&greeting, client->fd) || buffer_count(&greeting)) fail("cannot greet");
  buffer_free(&greeting);
  set_nonblocking(client->fd);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
  if (epoll_ctl(r->epoll, EPOLL_CTL_ADD, client->fd, &event)) fail("epoll_ctl");
}

/* Takes the answers to the greeting; returns the length of what it took. */
static size_t take_answers(struct reader *r, struct client *client, const char *bytes, size_t count) {
  size_t at = 0;
  while (client->awaited_answers && at < count) {
    size_t length = r->protocol->answer(bytes + at, count - at);
    if (!length) break;
    at += length;
    client->awaited_answers--;
  }
  return at;
}

/* Reads once. Returns whether the client has all its answers. */
static bool read_client(struct reader *r, struct client *client) {
  size_t have = buffer_count(&client->rest);
  if (have) memcpy(r->chunk, buffer_bytes(&client->rest), have);
  ssize_t got = recv(client->fd, r->chunk + have, r->chunk_size - have, 0);
  if (got < 0 && errno == EAGAIN) return client->awaited_answers == 0;
  if (got <= 0) fail("a client was let go");
  size_t count = have + (size_t)got, at = 0;
  if (client->awaited_answers) at = take_answers(r, client, r->chunk, count);
  if (!client->awaited_answers && r->tally.total) at += tally_take(&r->tally, &client->place, r->chunk + at, count - at);
  client->rest.start = client->rest.end = 0;
  if (at < count) buffer_append(&client->rest, r->chunk + at, count - at);
  return client->awaited_answers == 0;
}

static int wait_ready(struct reader *r, struct epoll_event *events, int limit) {
  int count;
  do count = epoll_wait(r->epoll, events, limit, PATIENCE_MS);
  while (count < 0 && errno == EINTR);
  if (count < 0) fail("epoll_wait");
  return count;
}

/* Connects in portions, so that the peer's queue of waiting connections never overflows. */
static void gather(struct reader *r, const char *path) {
  int welcomed = 0, connected = 0;
  while (welcomed < r->count) {
    while (connected < r->count && connected < welcomed + 64) connect_client(r, connected++, path);
    struct epoll_event events[64];
    int count = wait_ready(r, events, 64);
    errno = 0;
    if (!count) fail("no answer for %d clients", connected - welcomed);
    for (int i = 0; i < count; i++) {
      struct client *client = events[i].data.ptr;
      bool before = client->awaited_answers == 0;
      if (read_client(r, client) && !before) welcomed++;
    }
  }
}

static void tell(struct reader *r, const char *format, uint64_t a, uint64_t b, uint64_t c) {
  char line[96];
  int length = snprintf(line, sizeof line, format, (unsigned long long)a, (unsigned long long)b, (unsigned long long)c);
  if (write(r->control, line, (size_t)length) != length) fail("the blaster is gone");
}

/* Reads until everything is there; returns the seconds it took. */
static double receive_all(struct reader *r) {
  uint64_t begin = clock_now(), last = begin;
  while (r->tally.confirmed < r->tally.total) {
    struct epoll_event events[256];
    int count = wait_ready(r, events, 256);
    if (!count) break;
    for (int i = 0; i < count; i++) read_client(r, events[i].data.ptr);
    last = clock_now();
    if (r->tally.confirmed > r->told) {
      r->told = r->tally.confirmed;
      tell(r, "confirm %llu\n", r->told, 0, 0);
    }
  }
  return (double)(last - begin) * 1e-9;
}

static void report(struct reader *r, double seconds, struct cpu_use before) {
  struct cpu_use after = cpu_used();
  printf("{\"complete\":%s,\"seconds\":%.6f,\"deliveries\":%llu,\"bytes\":%llu,\"lost\":%llu,\"others\":%llu,"
         "\"user\":%.3f,\"system\":%.3f,\"latency\":",
         r->tally.confirmed == r->tally.total ? "true" : "false", seconds, (unsigned long long)r->tally.deliveries,
         (unsigned long long)r->tally.bytes, (unsigned long long)r->tally.lost, (unsigned long long)r->tally.others,
         after.user - before.user, after.system - before.system);
  if (r->tally.latency)
    samples_print(r->tally.latency);
  else
    printf("null");
  printf("}\n");
  fflush(stdout);
}

static void wait_for_line(void) {
  char line[64];
  if (!fgets(line, sizeof line, stdin)) exit(0);
}

static void run(struct reader *r, uint64_t events, uint64_t window, uint64_t rate) {
  static struct samples latency;
  uint64_t step = window >= 8 ? window / 8 : 1;
  tally_begin(&r->tally, r->protocol, r->count, events, step);
  for (int i = 0; i < r->count; i++) place_begin(&r->clients[i].place);
  r->told = 0;
  latency.count = 0;
  if (rate) r->tally.latency = &latency;
  struct cpu_use before = cpu_used();
  tell(r, "start %llu %llu %llu\n", events, window, rate);
  double seconds = receive_all(r);
  report(r, seconds, before);
}

int main(int argc, char **argv) {
  options_check(argc, argv,
                "--protocol --socket --clients --subscriptions --url --control --events --window --rate --chunk ");
  const char *socket = option_text(argc, argv, "--socket", NULL);
  const char *control = option_text(argc, argv, "--control", NULL);
  if (!socket) fail("--socket PATH is needed");
  struct reader r = {
      .protocol = protocol_named(option_text(argc, argv, "--protocol", "gatewayd")),
      .wish = {option_text(argc, argv, "--url", ""), (int)option_number(argc, argv, "--subscriptions", 1)},
      .count = (int)option_number(argc, argv, "--clients", 1),
      .epoll = epoll_create1(EPOLL_CLOEXEC),
  };
  r.clients = calloc((size_t)r.count, sizeof *r.clients);
  r.chunk_size = option_number(argc, argv, "--chunk", CHUNK);
  r.chunk = malloc(r.chunk_size);
  if (!r.clients || !r.chunk) fail("no memory for %d clients", r.count);
  if (control) r.control = unix_connect(control);
  gather(&r, socket);
  printf("ready\n");
  fflush(stdout);
  for (;;) {
    wait_for_line();
    if (control)
      run(&r, option_number(argc, argv, "--events", 10000), option_number(argc, argv, "--window", 1024),
          option_number(argc, argv, "--rate", 0));
  }
}
