// libcrypto is not linked but loaded when it is first needed: it is 0.5 MB of a daemon that has nothing to do.
// Decision 0134.
#include "CCrypto.h"
#include <dlfcn.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

// All that is called of it.
#define EACH(each)                                                                                                      \
  each(EVP_Digest) each(EVP_sha1) each(EVP_sha256) each(HMAC) each(PKCS5_PBKDF2_HMAC)                                   \
  each(EVP_PKEY_new_raw_private_key) each(EVP_PKEY_get_raw_public_key) each(EVP_PKEY_free) each(EVP_MD_CTX_new)         \
  each(EVP_MD_CTX_free) each(EVP_DigestSignInit) each(EVP_DigestSign)

static struct {
#define POINTER(name) __typeof__(&name) name;
  EACH(POINTER)
} found;

static void find_all(void) {
  void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
#define FIND(name) && (found.name = (__typeof__(found.name))dlsym(library, #name))
  if (library EACH(FIND)) return;
  // A program that is linked with it does not start without it: there is nothing to be done in its place.
  const char *reason = dlerror();
  fprintf(stderr, "gatewayd: %s; reinstall the package libssl3\n", reason ? reason : "libcrypto.so.3 cannot be loaded");
  abort();
}

static void load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_all);
}

void gw_sha1(const uint8_t *data, size_t count, uint8_t *digest) {
  load();
  found.EVP_Digest(data, count, digest, NULL, found.EVP_sha1(), NULL);
}

void gw_sha256(const uint8_t *data, size_t count, uint8_t *digest) {
  load();
  found.EVP_Digest(data, count, digest, NULL, found.EVP_sha256(), NULL);
}

int gw_hmac_sha256(const uint8_t *key, size_t key_count, const uint8_t *data, size_t count, uint8_t *code) {
  load();
  return key_count <= INT_MAX && found.HMAC(found.EVP_sha256(), key, (int)key_count, data, count, code, NULL) != NULL;
}

int gw_pbkdf2_sha256(const uint8_t *password, size_t password_count, const uint8_t *salt, size_t salt_count,
                     int iterations, uint8_t *key, size_t key_count) {
  load();
  if (password_count > INT_MAX || salt_count > INT_MAX || key_count > INT_MAX) return 0;
  return found.PKCS5_PBKDF2_HMAC((const char *)password, (int)password_count, salt, (int)salt_count, iterations,
                                 found.EVP_sha256(), (int)key_count, key) == 1;
}

static EVP_PKEY *ed25519_pair(const uint8_t *private_key) {
  load();
  return found.EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, private_key, 32);
}

int gw_ed25519_public_key(const uint8_t *private_key, uint8_t *public_key) {
  EVP_PKEY *pair = ed25519_pair(private_key);
  size_t count = 32;
  int made = pair && found.EVP_PKEY_get_raw_public_key(pair, public_key, &count) == 1 && count == 32;
  if (pair) found.EVP_PKEY_free(pair);
  return made;
}

int gw_ed25519_sign(const uint8_t *private_key, const uint8_t *message, size_t count, uint8_t *signature) {
  EVP_PKEY *pair = ed25519_pair(private_key);
  EVP_MD_CTX *context = pair ? found.EVP_MD_CTX_new() : NULL;
  size_t length = 64;
  int made = context && found.EVP_DigestSignInit(context, NULL, NULL, NULL, pair) == 1 &&
             found.EVP_DigestSign(context, signature, &length, message, count) == 1 && length == 64;
  if (context) found.EVP_MD_CTX_free(context);
  if (pair) found.EVP_PKEY_free(pair);
  return made;
}
