#include "link.h"

#include <ctype.h>
#include <string.h>

#include "websocket.h"

/* `maxPayload` as the common servers have it; the heartbeat is the blaster's own clock's business. */
static const char open_packet[] =
    "0{\"sid\":\"blaster\",\"upgrades\":[],\"pingInterval\":25000,\"pingTimeout\":20000,\"maxPayload\":1000000}";

void link_open(struct link *link, int fd, enum link_kind kind) {
  *link = (struct link){.fd = fd, .kind = kind, .joined = kind != LINK_SOCKETIO && kind != LINK_MQTT};
  if (kind == LINK_NATS) buffer_print(&link->out, "CONNECT {\"verbose\":false}\r\n");
  if (kind == LINK_MQTT) /* CONNECT, MQTT 3.1.1 section 3.1: clean session, no keep-alive, client "blaster" */
    buffer_append(&link->out, "\x10\x13\0\4MQTT\4\2\0\0\0\7blaster", 21);
}

/* The behind of `["echo",1,2]` after its name: `1,2]`, or `]` when there is nothing else. */
static const char *arguments_behind_name(const char *array, const char *end) {
  const char *at = array + 2;
  while (at < end && *at != '"') at += *at == '\\' ? 2 : 1;
  at++;
  return at < end && *at == ',' ? at + 1 : at;
}

/* `42N["echo",…]` is answered by `43N[…]`; an event that wants no ack is taken silently. */
static void answer_event(struct link *link, const char *packet, const char *end) {
  const char *id = packet + 2, *array = id;
  while (array < end && isdigit((unsigned char)*array)) array++;
  if (array == id || end - array < 4 || array[0] != '[' || array[1] != '"') return;
  const char *arguments = arguments_behind_name(array, end);
  if (arguments >= end) return;
  size_t id_count = (size_t)(array - id), count = (size_t)(end - arguments);
  uint8_t head[10];
  buffer_append(&link->out, head, ws_head(head, WS_TEXT, 2 + id_count + 1 + count));
  buffer_append(&link->out, "43", 2);
  buffer_append(&link->out, id, id_count);
  buffer_append(&link->out, "[", 1);
  buffer_append(&link->out, arguments, count);
}

/* `40` and `40/name,{…}` are both accepted, each in its own namespace. */
static void accept_namespace(struct link *link, const char *packet, size_t count) {
  static const char sid[] = "{\"sid\":\"blaster-namespace\"}";
  const char *comma = count > 2 && packet[2] == '/' ? memchr(packet, ',', count) : NULL;
  size_t name = comma ? (size_t)(comma - packet) - 2 + 1 : 0;
  uint8_t head[10];
  buffer_append(&link->out, head, ws_head(head, WS_TEXT, 2 + name + sizeof sid - 1));
  buffer_append(&link->out, "40", 2);
  buffer_append(&link->out, packet + 2, name);
  buffer_append(&link->out, sid, sizeof sid - 1);
  link->joined = true;
}

static void receive_packet(struct link *link, const char *packet, size_t count) {
  if (count >= 2 && memcmp(packet, "42", 2) == 0) {
    answer_event(link, packet, packet + count);
  } else if (count >= 2 && memcmp(packet, "40", 2) == 0) {
    accept_namespace(link, packet, count);
  } else if (count == 2 && memcmp(packet, "41", 2) == 0) {
    link->joined = false;
  }
}

static void receive_frames(struct link *link) {
  struct ws_frame frame;
  while (!link->closing && ws_next(&link->in, &frame)) {
    if (frame.opcode == WS_TEXT) receive_packet(link, frame.payload, frame.count);
    if (frame.opcode == WS_PING) ws_append(&link->out, WS_PONG, frame.payload, frame.count, false);
    if (frame.opcode == WS_CLOSE) {
      ws_append(&link->out, WS_CLOSE, frame.payload, frame.count, false);
      link->closing = true;
    }
    buffer_take(&link->in, frame.frame_count);
  }
}

void link_receive(struct link *link) {
  switch (link->kind) {
    case LINK_SOCKETIO:
      if (!link->upgraded && ws_accept(&link->in, &link->out)) {
        link->upgraded = true;
        ws_append(&link->out, WS_TEXT, open_packet, sizeof open_packet - 1, false);
      }
      if (link->upgraded) receive_frames(link);
      return;
    case LINK_MQTT:
      link->joined = link->joined || (buffer_count(&link->in) >= 4 && buffer_bytes(&link->in)[3] == 0);
      if (!link->joined) return;
      break;
    case LINK_LINES:
    case LINK_NATS:
    case LINK_REDIS: break;
  }
  buffer_take(&link->in, buffer_count(&link->in));
}

void link_ping(struct link *link) {
  if (link->kind == LINK_SOCKETIO && link->joined) ws_append(&link->out, WS_TEXT, "2", 1, false);
}
