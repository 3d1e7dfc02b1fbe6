#pragma once
#include <stddef.h>
#include <stdint.h>

/* What the daemon needs of libcrypto, which is loaded with the first call: see CCrypto.c. All may be called on any
   thread. Those that return a number return 0 where the library refuses. */

/* SHA-1 (20 bytes) and SHA-256 (32 bytes) of data. */
void gw_sha1(const uint8_t *data, size_t count, uint8_t *digest);
void gw_sha256(const uint8_t *data, size_t count, uint8_t *digest);
/* HMAC with SHA-256 (RFC 2104), 32 bytes. */
int gw_hmac_sha256(const uint8_t *key, size_t key_count, const uint8_t *data, size_t count, uint8_t *code);
/* PBKDF2 with HMAC-SHA-256 (RFC 8018): a key of key_count bytes. */
int gw_pbkdf2_sha256(const uint8_t *password, size_t password_count, const uint8_t *salt, size_t salt_count,
                     int iterations, uint8_t *key, size_t key_count);
/* Ed25519 (RFC 8032): the public key, 32 bytes, of a private one of 32 bytes, and a signature of 64 bytes. */
int gw_ed25519_public_key(const uint8_t *private_key, uint8_t *public_key);
int gw_ed25519_sign(const uint8_t *private_key, const uint8_t *message, size_t count, uint8_t *signature);
