#include "websocket.h"

#include <errno.h>
#include <string.h>

#include "failure.h"
#include "sha1.h"

static const char key_suffix[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455 section 1.3 */

static void base64_of_digest(const uint8_t digest[20], char text[29]) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  uint8_t padded[21] = {0};
  memcpy(padded, digest, 20);
  for (int i = 0; i < 7; i++) {
    uint32_t three = (uint32_t)padded[3 * i] << 16 | (uint32_t)padded[3 * i + 1] << 8 | padded[3 * i + 2];
    for (int j = 0; j < 4; j++) text[4 * i + j] = alphabet[three >> (18 - 6 * j) & 63];
  }
  text[27] = '=';
  text[28] = 0;
}

/* The length of the HTTP head at the front, the empty line included; 0 while it is incomplete. */
static size_t head_count(struct buffer *in) {
  const char *end = memmem(buffer_bytes(in), buffer_count(in), "\r\n\r\n", 4);
  return end ? (size_t)(end - buffer_bytes(in)) + 4 : 0;
}

bool ws_accept(struct buffer *in, struct buffer *out) {
  size_t count = head_count(in);
  if (!count) return false;
  char *head = buffer_bytes(in);
  head[count - 1] = 0;
  const char *field = strcasestr(head, "\r\nsec-websocket-key:");
  errno = 0;
  if (!field) fail("a request without Sec-WebSocket-Key: %s", head);
  field += 20;
  while (*field == ' ') field++;
  char key[128];
  size_t length = strcspn(field, "\r ");
  if (length > 48) fail("an overlong Sec-WebSocket-Key");
  memcpy(key, field, length);
  memcpy(key + length, key_suffix, sizeof key_suffix - 1);
  uint8_t digest[20];
  char accept[29];
  sha1(key, length + sizeof key_suffix - 1, digest);
  base64_of_digest(digest, accept);
  buffer_print(out,
               "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Accept: %s\r\n\r\n",
               accept);
  buffer_take(in, count);
  return true;
}

void ws_ask(struct buffer *out, const char *path) {
  buffer_print(out,
               "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
               path);
}

bool ws_accepted(struct buffer *in) {
  size_t count = head_count(in);
  if (!count) return false;
  errno = 0;
  if (memcmp(buffer_bytes(in), "HTTP/1.1 101 ", 13) != 0) fail("no upgrade: %.60s", buffer_bytes(in));
  buffer_take(in, count);
  return true;
}

/* Masks, or takes the mask away (RFC 6455 section 5.3). */
static void apply_mask(uint8_t *bytes, size_t count, const uint8_t mask[4]) {
  uint64_t twice, eight;
  memcpy(&twice, mask, 4);
  memcpy((uint8_t *)&twice + 4, mask, 4);
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    memcpy(&eight, bytes + i, 8);
    eight ^= twice;
    memcpy(bytes + i, &eight, 8);
  }
  for (; i < count; i++) bytes[i] ^= mask[i & 3];
}

bool ws_next(const struct buffer *in, struct ws_frame *frame) {
  size_t have = buffer_count(in);
  uint8_t *bytes = (uint8_t *)buffer_bytes(in);
  if (have < 2) return false;
  bool masked = bytes[1] & 0x80;
  size_t count = bytes[1] & 0x7f, head = 2;
  if (count == 126) {
    head = 4;
    if (have < head) return false;
    count = (size_t)bytes[2] << 8 | bytes[3];
  } else if (count == 127) {
    head = 10;
    if (have < head) return false;
    count = 0;
    for (int i = 2; i < 10; i++) count = count << 8 | bytes[i];
  }
  head += masked ? 4 : 0;
  if (have < head + count) return false;
  uint8_t *payload = bytes + head;
  if (masked) apply_mask(payload, count, payload - 4);
  errno = 0;
  if (!(bytes[0] & 0x80)) fail("a fragmented message");
  *frame = (struct ws_frame){bytes[0] & 0x0f, (char *)payload, count, head + count};
  return true;
}

size_t ws_head(uint8_t head[10], uint8_t opcode, size_t count) {
  head[0] = (uint8_t)(0x80 | opcode);
  if (count < 126) {
    head[1] = (uint8_t)count;
    return 2;
  }
  int bytes = count < 65536 ? 2 : 8;
  head[1] = bytes == 2 ? 126 : 127;
  for (int i = 0; i < bytes; i++) head[2 + i] = (uint8_t)((uint64_t)count >> (8 * (bytes - 1 - i)));
  return (size_t)bytes + 2;
}

void ws_append(struct buffer *out, uint8_t opcode, const void *payload, size_t count, bool masked) {
  static const uint8_t mask[4] = {0x5a, 0xa5, 0x3c, 0xc3};
  uint8_t head[10];
  size_t head_bytes = ws_head(head, opcode, count);
  if (masked) head[1] |= 0x80;
  buffer_append(out, head, head_bytes);
  if (masked) buffer_append(out, mask, 4);
  buffer_append(out, payload, count);
  if (masked) apply_mask((uint8_t *)out->base + out->end - count, count, mask);
}
