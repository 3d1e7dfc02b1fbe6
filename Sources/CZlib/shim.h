#pragma once
#include <zlib.h>

// zlib's initialisers are macros that pass its version and the size of the stream.
static inline int gw_deflate_init(z_stream *stream, int level, int window_bits) {
  return deflateInit2(stream, level, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
}
static inline int gw_inflate_init(z_stream *stream, int window_bits) { return inflateInit2(stream, window_bits); }
