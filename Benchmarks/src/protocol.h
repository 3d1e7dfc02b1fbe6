/* What differs from peer to peer for a subscriber: how it subscribes and where its events begin and end. */
#ifndef PROTOCOL_H
#define PROTOCOL_H

#include "buffer.h"

/* What a client asks for. */
struct wish {
  /* gatewayd: the URL of the upstream. */
  const char *url;
  /* Per client; 0: it only sits there. */
  int subscriptions;
};

struct protocol {
  const char *name;
  /* Appends what a fresh client says; returns how many answers it then gets before the first event. */
  int (*greet)(struct buffer *out, const struct wish *wish, int client);
  /* The length of one whole answer at the front, or 0; a refusal ends the program. */
  size_t (*answer)(const char *bytes, size_t count);
  /* The length of one whole event (or another notification) at the front, or 0. */
  size_t (*record)(const char *bytes, size_t count);
  /* Bytes of an event behind its number, and the very last one. */
  size_t tail;
  char last;
};

/* `gatewayd`, `relay`, `relay-notification`, `redis`, `nats` or `mosquitto`; another name ends the program. */
const struct protocol *protocol_named(const char *name);

#endif
