/*
 * Any number of hosts of a fleet that follow, as Redis sees them: each has two connections, joins, says that it lives, looks
 * at the lease and reads every event.
 *
 *   followers --port N --hosts N --keys PREFIX --join SHA --alive SHA --details TEXT
 *             [--beat MS] [--lease MS] [--rest US]
 *
 * SHA are the digests of the fleet's scripts, which the server knows already. A host runs `alive` every `beat`, reads the
 * lease and its own row every `lease`, and asks for events no sooner than `rest` after it has asked the last time. Prints
 * `ready` once all have joined. Each line on
 * stdin prints what they had since the line before, and begins anew; the end of it ends the program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "buffer.h"
#include "clock.h"
#include "failure.h"
#include "options.h"
#include "payload.h"
#include "resp.h"
#include "samples.h"
#include "sockets.h"

enum { CHUNK = 256 << 10, TOGETHER = 64, READ_LIMIT = 1000, PLACE = 48 };

struct link {
  int fd;
  /* The one that reads the streams. */
  bool reads;
  struct host *host;
  struct buffer rest;
};

struct host {
  char name[16], life[24];
  struct link calls, streams;
  /* How far the events were read, and the number of the last one. */
  char place[PLACE];
  uint64_t last;
  bool began;
  uint64_t events;
  /* When events were asked for the last time. */
  uint64_t asked;
};

/* What every host does now and then: in each period one after the other, evenly. */
struct habit {
  void (*act)(struct host *);
  uint64_t period, done;
};

static struct {
  int epoll, count, joined;
  const char *keys, *join, *alive, *details;
  struct host *hosts;
  /* Hosts that rest before they ask for events again. */
  struct host **resting;
  int resting_count;
  uint64_t rest;
  uint64_t commands, reads, holes, refusals, begin;
  struct cpu_use before;
  struct samples latency;
  char *chunk;
} all;

/* Says a command of so many words on a connection. */
static void say(struct link *link, int count, const char **words) {
  static struct buffer out;
  buffer_print(&out, "*%d\r\n", count);
  for (int i = 0; i < count; i++) buffer_print(&out, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
  if (!buffer_write(&out, link->fd) || buffer_count(&out)) fail("the server does not take what a host says");
  all.commands++;
}
#define SAY(link, ...) \
  say(link, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *)), (const char *[]){__VA_ARGS__})

static const char *key(char *space, size_t size, const char *part, const char *host) {
  snprintf(space, size, "%s%s%s", all.keys, part, host);
  return space;
}
#define KEY(part, host) key((char[128]){0}, 128, part, host)

static void join(struct host *host) {
  SAY(&host->calls, "EVALSHA", all.join, "2", KEY("hosts", ""), KEY("box:", host->name), host->name, "0", all.details);
}

static void live(struct host *host) {
  SAY(&host->calls, "EVALSHA", all.alive, "1", KEY("hosts", ""), host->name, host->life, all.details);
}

static void look_at_lease(struct host *host) {
  SAY(&host->calls, "HGETALL", KEY("L", ""));
  SAY(&host->calls, "HMGET", KEY("hosts", ""), host->name);
}

static void read_on(struct host *host) {
  char limit[16];
  snprintf(limit, sizeof limit, "%d", READ_LIMIT);
  SAY(&host->streams, "XREAD", "COUNT", limit, "BLOCK", "0", "STREAMS", KEY("re:", host->name), KEY("ev", ""), "0-0",
      host->place);
  host->asked = clock_now();
  all.reads++;
}

static void read_later(struct host *host) {
  if (clock_now() - host->asked >= all.rest) return read_on(host);
  all.resting[all.resting_count++] = host;
}

static void read_rested(void) {
  uint64_t now = clock_now();
  for (int i = 0; i < all.resting_count;) {
    struct host *host = all.resting[i];
    if (now - host->asked < all.rest) {
      i++;
      continue;
    }
    all.resting[i] = all.resting[--all.resting_count];
    read_on(host);
  }
}

/* The sending's time of an event's argument, which ends with it, its number and a quotation mark. */
static void note_delay(struct resp value) {
  const char *end = value.text + value.length;
  while (end > value.text && end[-1] != '"') end--;
  const char *at = end - 1 - NUMBER_DIGITS - 1 - TIME_DIGITS;
  if (at < value.text) return;
  uint64_t sent = digits_read(at, TIME_DIGITS), now = clock_now();
  if (sent != UINT64_MAX && sent && sent < now) samples_add(&all.latency, now - sent);
}

/* One entry of `ev`: its place, then names and values. A marker is at `c-0` and says in `s` which event was the last. */
static void take_entry(struct host *host, struct resp entry) {
  struct resp place = resp_next(&entry), words = resp_next(&entry);
  if (place.length >= PLACE) fail("no place");
  memcpy(host->place, place.text, place.length);
  host->place[place.length] = 0;
  uint64_t number = strtoull(strchr(host->place, '-') + 1, NULL, 10);
  bool is_event = number > 0;
  while (words.count) {
    struct resp name = resp_next(&words), value = resp_next(&words);
    if (name.length != 1) continue;
    if (*name.text == 's' && !is_event) number = strtoull(value.text, NULL, 10);
    if (*name.text == 'a' && is_event) note_delay(value);
  }
  if (host->began && number != host->last + (is_event ? 1 : 0)) all.holes++;
  host->began = true;
  host->last = number;
  host->events += is_event;
}

static void take_streams(struct host *host, struct resp reply) {
  while (reply.count) {
    struct resp stream = resp_next(&reply), name = resp_next(&stream), entries = resp_next(&stream);
    bool is_events = name.length > 3 && memcmp(name.text + name.length - 3, ":ev", 3) == 0;
    while (entries.count) {
      struct resp entry = resp_next(&entries);
      if (is_events) take_entry(host, entry);
    }
  }
  read_later(host);
}

static void take(struct link *link, struct resp reply) {
  struct host *host = link->host;
  if (reply.kind == '-') {
    if (!all.refusals++) fprintf(stderr, "%s: %.*s\n", host->name, (int)reply.length, reply.text);
  } else if (link->reads) {
    take_streams(host, reply);
  } else if (!*host->life) {
    struct resp life = resp_next(&reply);
    if (life.length >= sizeof host->life) fail("no life");
    memcpy(host->life, life.text, life.length);
    all.joined++;
    read_on(host);
  }
}

static void read_link(struct link *link) {
  ssize_t got;
  struct buffer *rest = &link->rest;
  const char *bytes = all.chunk;
  size_t count, at = 0, length;
  if (buffer_count(rest)) {
    if (!buffer_read(rest, link->fd, CHUNK)) fail("the server let a host go");
    bytes = buffer_bytes(rest);
    count = buffer_count(rest);
  } else {
    got = read(link->fd, all.chunk, CHUNK);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) fail("the server let a host go");
    count = (size_t)got;
  }
  struct resp reply;
  while (at < count && (length = resp_read(bytes + at, count - at, &reply))) {
    take(link, reply);
    at += length;
  }
  if (bytes != all.chunk) {
    buffer_take(rest, at);
    if (!buffer_count(rest)) buffer_free(rest);
  } else if (at < count) {
    buffer_append(rest, bytes + at, count - at);
  }
}

static void connect_link(struct link *link, struct host *host, uint16_t port, bool reads) {
  link->host = host;
  link->reads = reads;
  link->fd = tcp_connect(port);
  set_nonblocking(link->fd);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
  if (epoll_ctl(all.epoll, EPOLL_CTL_ADD, link->fd, &event)) fail("epoll_ctl");
}

static void begin(struct host *host, int number, uint16_t port) {
  snprintf(host->name, sizeof host->name, "s%d", number);
  strcpy(host->place, "0-0");
  connect_link(&host->calls, host, port, false);
  connect_link(&host->streams, host, port, true);
  join(host);
}

static void report(void) {
  uint64_t least = UINT64_MAX, most = 0;
  for (int i = 0; i < all.count; i++) {
    struct host *host = &all.hosts[i];
    if (host->events < least) least = host->events;
    if (host->events > most) most = host->events;
    host->events = 0;
  }
  struct cpu_use now = cpu_used();
  printf("{\"hosts\":%d,\"events\":[%llu,%llu],\"holes\":%llu,\"refusals\":%llu,\"commands\":%llu,\"reads\":%llu,\"seconds\":%.3f,\"cpu\":%.3f,\"latency\":",
         all.count, (unsigned long long)least, (unsigned long long)most, (unsigned long long)all.holes,
         (unsigned long long)all.refusals, (unsigned long long)all.commands, (unsigned long long)all.reads,
         (double)(clock_now() - all.begin) * 1e-9,
         now.user + now.system - all.before.user - all.before.system);
  samples_print(&all.latency);
  printf("}\n");
  fflush(stdout);
  all.latency.count = 0;
  all.commands = all.reads = all.holes = all.refusals = 0;
  all.begin = clock_now();
  all.before = now;
}

/* Waits for what comes, no longer than that; false at the end of stdin. */
static bool turn(int milliseconds) {
  struct epoll_event events[512];
  int count = epoll_wait(all.epoll, events, 512, milliseconds);
  if (count < 0 && errno != EINTR) fail("epoll_wait");
  for (int i = 0; i < count; i++) {
    if (events[i].data.ptr) {
      read_link(events[i].data.ptr);
      continue;
    }
    char line[64];
    if (read(STDIN_FILENO, line, sizeof line) <= 0) return false;
    report();
  }
  return true;
}

static void keep(struct habit *habit, uint64_t since) {
  uint64_t due = (uint64_t)((double)(clock_now() - since) / (double)habit->period * all.count);
  for (; habit->done < due; habit->done++) habit->act(&all.hosts[habit->done % (uint64_t)all.count]);
}

static uint64_t period(int argc, char **argv, const char *name, uint64_t otherwise) {
  return option_number(argc, argv, name, otherwise) * 1000000;
}

int main(int argc, char **argv) {
  options_check(argc, argv, "--port --hosts --keys --join --alive --details --beat --lease --rest ");
  uint16_t port = (uint16_t)option_number(argc, argv, "--port", 6379);
  all.count = (int)option_number(argc, argv, "--hosts", 1);
  all.keys = option_text(argc, argv, "--keys", "");
  all.join = option_text(argc, argv, "--join", "");
  all.alive = option_text(argc, argv, "--alive", "");
  all.details = option_text(argc, argv, "--details", "");
  all.rest = option_number(argc, argv, "--rest", 0) * 1000;
  struct habit habits[] = {
      {live, period(argc, argv, "--beat", 10000), 0},
      {look_at_lease, period(argc, argv, "--lease", 1000), 0},
  };
  all.epoll = epoll_create1(EPOLL_CLOEXEC);
  all.hosts = calloc((size_t)all.count, sizeof *all.hosts);
  all.resting = calloc((size_t)all.count, sizeof *all.resting);
  all.chunk = malloc(CHUNK);
  if (all.epoll < 0 || !all.hosts || !all.resting || !all.chunk) fail("no memory");
  for (int i = 0; i < all.count; i++) {
    while (i - all.joined >= TOGETHER) turn(1000);
    begin(&all.hosts[i], i, port);
  }
  while (all.joined < all.count) turn(1000);
  struct epoll_event event = {.events = EPOLLIN};
  if (epoll_ctl(all.epoll, EPOLL_CTL_ADD, STDIN_FILENO, &event)) fail("epoll_ctl");
  printf("ready\n");
  fflush(stdout);
  uint64_t since = all.begin = clock_now();
  all.before = cpu_used();
  while (turn(all.resting_count ? 1 : 5)) {
    read_rested();
    for (size_t i = 0; i < sizeof habits / sizeof *habits; i++) keep(&habits[i], since);
  }
}
