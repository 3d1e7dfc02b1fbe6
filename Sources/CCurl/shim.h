#pragma once
#include <curl/curl.h>
#include <openssl/ssl.h>
/* libcurl's setters and getters are variadic, which Swift cannot call: one typed wrapper for each kind of argument.
   The type-checking macros of the same names must not get in the way. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

static inline CURLcode gw_easy_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode gw_easy_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode gw_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode gw_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode gw_easy_set_debug_function(CURL *easy, curl_debug_callback value) {
  return curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, value);
}
static inline void *gw_easy_private(CURL *easy) {
  char *value = NULL;
  return curl_easy_getinfo(easy, CURLINFO_PRIVATE, &value) == CURLE_OK ? value : NULL;
}
static inline long gw_easy_long(CURL *easy, CURLINFO info) {
  long value = 0;
  return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}
/* Microseconds; 0 while the moment has not been reached. */
static inline curl_off_t gw_easy_time(CURL *easy, CURLINFO info) {
  curl_off_t value = 0;
  return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}
static inline curl_socket_t gw_easy_socket(CURL *easy) {
  curl_socket_t value = CURL_SOCKET_BAD;
  return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &value) == CURLE_OK ? value : CURL_SOCKET_BAD;
}
/* Such as "TLSv1.3"; NULL without TLS, or before the first byte was sent or read. */
static inline const char *gw_easy_tls_version(CURL *easy) {
  struct curl_tlssessioninfo *session = NULL;
  if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || !session || !session->internals ||
      session->backend != CURLSSLBACKEND_OPENSSL)
    return NULL;
  return SSL_get_version((const SSL *)session->internals);
}
static inline CURLMcode gw_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode gw_multi_set_socket_function(CURLM *multi, curl_socket_callback value) {
  return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, value);
}
static inline CURLMcode gw_multi_set_timer_function(CURLM *multi, curl_multi_timer_callback value) {
  return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, value);
}
static inline CURLcode gw_message_result(const CURLMsg *message) { return message->data.result; }
