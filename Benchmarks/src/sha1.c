#include "sha1.h"

#include <string.h>

static uint32_t rotate(uint32_t value, int by) { return value << by | value >> (32 - by); }

/* RFC 3174 section 6.1: one block of 16 words. */
static void take_block(uint32_t state[5], const uint8_t *block) {
  uint32_t w[80];
  for (int i = 0; i < 16; i++)
    w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
           block[4 * i + 3];
  for (int i = 16; i < 80; i++) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
  for (int i = 0; i < 80; i++) {
    uint32_t f, k;
    if (i < 20) {
      f = (b & c) | (~b & d), k = 0x5a827999;
    } else if (i < 40) {
      f = b ^ c ^ d, k = 0x6ed9eba1;
    } else if (i < 60) {
      f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
    } else {
      f = b ^ c ^ d, k = 0xca62c1d6;
    }
    uint32_t next = rotate(a, 5) + f + e + w[i] + k;
    e = d, d = c, c = rotate(b, 30), b = a, a = next;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

void sha1(const void *bytes, size_t count, uint8_t digest[20]) {
  uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  uint8_t padded[128] = {0};
  size_t total = count + 9 <= 64 ? 64 : 128;
  memcpy(padded, bytes, count);
  padded[count] = 0x80;
  padded[total - 2] = (uint8_t)(count * 8 >> 8);
  padded[total - 1] = (uint8_t)(count * 8);
  for (size_t at = 0; at < total; at += 64) take_block(state, padded + at);
  for (int i = 0; i < 20; i++) digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}
