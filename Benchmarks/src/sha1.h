/* SHA-1 (RFC 3174) of a short text, for the accept key of the WebSocket upgrade. */
#ifndef SHA1_H
#define SHA1_H

#include <stddef.h>
#include <stdint.h>

/* `count` at most 119: the text and its padding fill one or two blocks. */
void sha1(const void *bytes, size_t count, uint8_t digest[20]);

#endif
