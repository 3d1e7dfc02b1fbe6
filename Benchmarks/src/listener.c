/*
 * One program that wants events and nothing else: the least that a user's own program can be.
 *
 *   listener --protocol NAME --socket PATH --events N [--url URL]
 *
 * Subscribes, prints `ready`, reads until it has N events, prints `done`, and stays until stdin ends, so that its memory
 * can be looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "buffer.h"
#include "failure.h"
#include "options.h"
#include "protocol.h"
#include "sockets.h"

enum { CHUNK = 16 << 10 };

/* Takes `wanted` records that `length` knows from the stream. */
static void take(struct buffer *in, int fd, uint64_t wanted, size_t (*length)(const char *, size_t)) {
  while (wanted) {
    size_t one = buffer_count(in) ? length(buffer_bytes(in), buffer_count(in)) : 0;
    if (one) {
      buffer_take(in, one);
      wanted--;
    } else if (!buffer_read(in, fd, CHUNK)) {
      fail("the peer is gone");
    }
  }
}

static void say(const char *word) {
  printf("%s\n", word);
  fflush(stdout);
}

int main(int argc, char **argv) {
  options_check(argc, argv, "--protocol --socket --events --url ");
  const struct protocol *protocol = protocol_named(option_text(argc, argv, "--protocol", "gatewayd"));
  const struct wish wish = {option_text(argc, argv, "--url", ""), 1};
  struct buffer in = {0}, greeting = {0};
  int fd = unix_connect(option_text(argc, argv, "--socket", "gatewayd.sock"));
  uint64_t answers = (uint64_t)protocol->greet(&greeting, &wish, getpid());
  if (!buffer_write(&greeting, fd)) fail("cannot greet");
  take(&in, fd, answers, protocol->answer);
  say("ready");
  take(&in, fd, option_number(argc, argv, "--events", 1), protocol->record);
  say("done");
  while (getchar() != EOF) {}
}
