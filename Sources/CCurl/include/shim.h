#pragma once
#include <curl/curl.h>
#include <openssl/ssl.h>
/* libcurl's setters and getters are variadic, which Swift cannot call: one typed wrapper for each kind of argument.
   The type-checking macros of the same names must not get in the way. They are pointers, which whatever makes a handle
   has set: libcurl is loaded with the first one, see CCurl.c. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
extern __typeof__(&curl_easy_setopt) gw_easy_setopt;
extern __typeof__(&curl_easy_getinfo) gw_easy_getinfo;
#undef curl_share_setopt
extern __typeof__(&curl_share_setopt) gw_share_setopt;
/* Why there is no handle: libcurl cannot be loaded, or memory is short. */
const char *gw_curl_problem(void);

static inline CURLcode gw_easy_set_long(CURL *easy, CURLoption option, long value) {
  return gw_easy_setopt(easy, option, value);
}
static inline CURLcode gw_easy_set_text(CURL *easy, CURLoption option, const char *value) {
  return gw_easy_setopt(easy, option, value);
}
static inline CURLcode gw_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
  return gw_easy_setopt(easy, option, value);
}
static inline CURLcode gw_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return gw_easy_setopt(easy, option, value);
}
static inline CURLcode gw_easy_set_debug_function(CURL *easy, curl_debug_callback value) {
  return gw_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, value);
}
static inline CURLcode gw_easy_set_transfer_function(CURL *easy, CURLoption option, curl_write_callback value) {
  return gw_easy_setopt(easy, option, value);
}
static inline CURLcode gw_easy_set_prerequest_function(CURL *easy, curl_prereq_callback value) {
  return gw_easy_setopt(easy, CURLOPT_PREREQFUNCTION, value);
}
static inline CURLcode gw_easy_set_tls_function(CURL *easy, curl_ssl_ctx_callback value) {
  return gw_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, value);
}
static inline curl_socket_t gw_no_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)context, (void)purpose, (void)address;
  return CURL_SOCKET_BAD;
}
/* Whatever the handle would connect to, it fails before there is a socket. */
static inline CURLcode gw_easy_refuse_sockets(CURL *easy) {
  return gw_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, gw_no_socket);
}
/* PEM text of the certificates to trust; a copy is kept. */
static inline CURLcode gw_easy_set_authorities(CURL *easy, const void *bytes, size_t length) {
  struct curl_blob text = {.data = (void *)bytes, .len = length, .flags = CURL_BLOB_COPY};
  return gw_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &text);
}
/* A copy of the bytes is kept. */
static inline CURLcode gw_easy_set_body(CURL *easy, const void *bytes, size_t length) {
  CURLcode code = gw_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
  return code == CURLE_OK ? gw_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, bytes) : code;
}
/* Of the body of the request, what the kernel has taken. */
static inline curl_off_t gw_easy_uploaded(CURL *easy) {
  curl_off_t value = 0;
  return gw_easy_getinfo(easy, CURLINFO_SIZE_UPLOAD_T, &value) == CURLE_OK ? value : 0;
}
static inline CURLcode gw_easy_set_seek_function(CURL *easy, curl_seek_callback value) {
  return gw_easy_setopt(easy, CURLOPT_SEEKFUNCTION, value);
}
static inline CURLcode gw_easy_set_body_size(CURL *easy, size_t length) {
  return gw_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)length);
}
static inline long gw_easy_long(CURL *easy, CURLINFO info) {
  long value = 0;
  return gw_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}
/* Microseconds; 0 while the moment has not been reached. */
static inline curl_off_t gw_easy_time(CURL *easy, CURLINFO info) {
  curl_off_t value = 0;
  return gw_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}
static inline curl_socket_t gw_easy_socket(CURL *easy) {
  curl_socket_t value = CURL_SOCKET_BAD;
  return gw_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &value) == CURLE_OK ? value : CURL_SOCKET_BAD;
}
/* Such as "TLSv1.3"; NULL without TLS, or before the first byte was sent or read. */
static inline const char *gw_easy_tls_version(CURL *easy) {
  struct curl_tlssessioninfo *session = NULL;
  if (gw_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || !session || !session->internals ||
      session->backend != CURLSSLBACKEND_OPENSSL)
    return NULL;
  return SSL_get_version((const SSL *)session->internals);
}
/* The numeric address of the peer; NULL before there is one. */
static inline const char *gw_easy_address(CURL *easy) {
  char *value = NULL;
  return gw_easy_getinfo(easy, CURLINFO_PRIMARY_IP, &value) == CURLE_OK ? value : NULL;
}
/* The lines that libcurl made of one of the peer's certificates; NULL beyond the last one. */
static inline const struct curl_slist *gw_easy_certificate(CURL *easy, int number) {
  struct curl_certinfo *all = NULL;
  if (gw_easy_getinfo(easy, CURLINFO_CERTINFO, &all) != CURLE_OK || !all || number >= all->num_of_certs) return NULL;
  return all->certinfo[number];
}
/* Handles with this share have a connection cache of their own together. */
static inline int gw_share_connections(CURLSH *share) {
  return gw_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT) == CURLSHE_OK;
}
