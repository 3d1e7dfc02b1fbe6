#pragma once
/* libcurl's multi interface by itself. Its setter is variadic, which Swift cannot call; its type-checking macro must not
   get in the way. */
#include <curl/curl.h>
#undef curl_multi_setopt
extern __typeof__(&curl_multi_setopt) gw_multi_setopt;

static inline CURLMcode gw_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
  return gw_multi_setopt(multi, option, value);
}
static inline CURLMcode gw_multi_set_socket_function(CURLM *multi, curl_socket_callback value) {
  return gw_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, value);
}
static inline CURLMcode gw_multi_set_timer_function(CURLM *multi, curl_multi_timer_callback value) {
  return gw_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, value);
}
/* Whether it tells of the end of a transfer. A constant of libcurl that several modules see is not always found by name. */
static inline int gw_message_is_done(const CURLMsg *message) { return message->msg == CURLMSG_DONE; }
/* A CURLcode. */
static inline unsigned gw_message_result(const CURLMsg *message) { return message->data.result; }
