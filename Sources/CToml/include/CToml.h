#pragma once
/* TOML 1.0 for Swift: toml++ reads the text, and what it found is handed over as JSON text in which every value
   carries its type and its position. No exception leaves these functions, and no input makes them recurse without bound. */
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Longest text that is read, in bytes.
#define GW_TOML_TEXT_LIMIT (1u << 20)
/// Deepest nesting of tables and arrays.
#define GW_TOML_DEPTH_LIMIT 24
/// Most dots in one line, outside of strings and comments; bounds the length of dotted keys before the parser sees them.
#define GW_TOML_DOTS_LIMIT 256

/// What became of a text: either `json` or `message` is set. Give it back with `gw_toml_free`.
typedef struct gw_toml_result {
  /// The root table, as `{"t":"table","l":1,"c":1,"v":{…}}`. `t` is table, array, string, integer, float, boolean, date,
  /// time or datetime; `l` and `c` are line and column from 1; members of a table also have their key's place as
  /// `kl` and `kc`. `v` is an object, an array, a string, an integer or a boolean; floats, dates and times are strings.
  char *json;
  size_t json_length;
  /// The first syntax error, as a sentence without a full stop.
  char *message;
  /// Where the error is; 0 when it belongs to the whole text.
  unsigned line;
  unsigned column;
} gw_toml_result;

/// Parses `length` bytes of UTF-8, which need not end with a NUL. When memory runs out neither `json` nor `message`
/// is set.
gw_toml_result gw_toml_parse(const char *text, size_t length);

/// Frees what the result holds and clears it.
void gw_toml_free(gw_toml_result *result);

#ifdef __cplusplus
}
#endif
