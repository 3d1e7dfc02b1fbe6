/* As much of WebSocket (RFC 6455) as the load programs need: both sides of the upgrade and unfragmented frames. */
#ifndef WEBSOCKET_H
#define WEBSOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "buffer.h"

/* Opcodes, RFC 6455 section 5.2. */
enum { WS_TEXT = 1, WS_BINARY = 2, WS_CLOSE = 8, WS_PING = 9, WS_PONG = 10 };

struct ws_frame {
  uint8_t opcode;
  /* The payload, unmasked in place; valid until the buffer is touched. */
  char *payload;
  size_t count;
  /* Of the whole frame: what to take from the buffer afterwards. */
  size_t frame_count;
};

/* Server: takes one complete HTTP request from `in` and appends the 101 reply to `out`. False: not complete yet. */
bool ws_accept(struct buffer *in, struct buffer *out);

/* Client: appends the HTTP request that asks for the upgrade. The key is a constant: nobody caches on loopback. */
void ws_ask(struct buffer *out, const char *path);

/* Client: takes the 101 reply from `in`. False: not complete yet. Any other status ends the program. */
bool ws_accepted(struct buffer *in);

/* Reads the frame at the front of `in` without taking it. False: not complete yet. */
bool ws_next(const struct buffer *in, struct ws_frame *frame);

/* Writes a server's frame head (no mask) for such a payload; returns its 2, 4 or 10 bytes. */
size_t ws_head(uint8_t head[10], uint8_t opcode, size_t count);

/* Appends a whole frame; `masked` as a client must. */
void ws_append(struct buffer *out, uint8_t opcode, const void *payload, size_t count, bool masked);

#endif
