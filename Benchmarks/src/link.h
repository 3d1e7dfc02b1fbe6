/* One upstream connection of the blaster: what it answers so that the peer takes its events. Bytes in, bytes out. */
#ifndef LINK_H
#define LINK_H

#include <stdbool.h>

#include "buffer.h"

enum link_kind {
  LINK_SOCKETIO, /* server: WebSocket, Engine.IO 4, Socket.IO 5 */
  LINK_LINES,    /* server of plain lines: nothing to say */
  LINK_REDIS,    /* client that publishes: replies are thrown away */
  LINK_NATS,     /* the same, after CONNECT */
  LINK_MQTT,     /* the same, after CONNECT and CONNACK */
};

struct link {
  int fd;
  enum link_kind kind;
  struct buffer in, out;
  /* The upgrade is done. */
  bool upgraded;
  /* The peer takes events. */
  bool joined;
  /* The peer asked to end the link. */
  bool closing;
  /* epoll watches for room to write. */
  bool watched_for_room;
};

/* A new link: appends what has to be said first. */
void link_open(struct link *link, int fd, enum link_kind kind);

/* Takes what has arrived and appends the answers. */
void link_receive(struct link *link);

/* Appends an Engine.IO ping where the protocol has one. */
void link_ping(struct link *link);

#endif
