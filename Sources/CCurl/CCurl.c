// libcurl is not linked but loaded when it is first needed: a daemon without a connection has neither it nor the thirty
// libraries that come with it. Decision 0134.
#include "multi.h"
#include "shim.h"
#include "url.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

// All that the daemon calls. OpenSSL is the one that libcurl brings along.
#define EACH(each)                                                                                                      \
  each(curl_easy_init) each(curl_easy_cleanup) each(curl_easy_pause) each(curl_easy_recv) each(curl_easy_send)          \
  each(curl_easy_strerror) each(curl_multi_init) each(curl_multi_cleanup) each(curl_multi_add_handle)                   \
  each(curl_multi_remove_handle) each(curl_multi_socket_action) each(curl_multi_info_read) each(curl_slist_append)      \
  each(curl_slist_free_all) each(curl_url) each(curl_url_cleanup) each(curl_url_get) each(curl_url_set)                 \
  each(curl_url_strerror) each(curl_free) each(curl_share_init) each(curl_share_cleanup) each(SSL_get_version)

#define POINTER(name) static __typeof__(&name) found_##name;
EACH(POINTER)

__typeof__(&curl_easy_setopt) gw_easy_setopt;
__typeof__(&curl_easy_getinfo) gw_easy_getinfo;
__typeof__(&curl_multi_setopt) gw_multi_setopt;
__typeof__(&curl_share_setopt) gw_share_setopt;

static char problem[256] = "out of memory";

const char *gw_curl_problem(void) { return problem; }

static int find_all(void *library) {
#define FIND_AS(pointer, name)                                                                                          \
  if (!(pointer = (__typeof__(pointer))dlsym(library, #name))) return 0;
#define FIND(name) FIND_AS(found_##name, name)
  EACH(FIND)
  FIND_AS(gw_easy_setopt, curl_easy_setopt)
  FIND_AS(gw_easy_getinfo, curl_easy_getinfo)
  FIND_AS(gw_multi_setopt, curl_multi_setopt)
  FIND_AS(gw_share_setopt, curl_share_setopt)
  return 1;
}

static atomic_int is_loaded;

static void try_to_load(void) {
  if (atomic_load_explicit(&is_loaded, memory_order_relaxed)) return;
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  int found = library && find_all(library);
  const char *reason = found ? "out of memory" : dlerror();
  snprintf(problem, sizeof problem, "%s", reason ? reason : "libcurl.so.4 cannot be loaded");
  if (library && !found) dlclose(library);
  atomic_store_explicit(&is_loaded, found, memory_order_release);
}

// Whether it is there. Tried again after a failure: an upgrade of the system may be under way. Any thread may call it; the
// sentence of a failure is for the one thread that the daemon does this on.
static int load(void) {
  static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
  if (atomic_load_explicit(&is_loaded, memory_order_acquire)) return 1;
  pthread_mutex_lock(&alone);
  try_to_load();
  pthread_mutex_unlock(&alone);
  return atomic_load_explicit(&is_loaded, memory_order_acquire);
}

// What makes something loads the library, and all else is given what was made. The first handle initialises it.
CURL *curl_easy_init(void) { return load() ? found_curl_easy_init() : NULL; }
CURLM *curl_multi_init(void) { return load() ? found_curl_multi_init() : NULL; }
CURLSH *curl_share_init(void) { return load() ? found_curl_share_init() : NULL; }
CURLU *curl_url(void) { return load() ? found_curl_url() : NULL; }
struct curl_slist *curl_slist_append(struct curl_slist *list, const char *text) {
  return load() ? found_curl_slist_append(list, text) : NULL;
}

void curl_easy_cleanup(CURL *easy) { found_curl_easy_cleanup(easy); }
CURLcode curl_easy_pause(CURL *easy, int flags) { return found_curl_easy_pause(easy, flags); }
CURLcode curl_easy_recv(CURL *easy, void *to, size_t length, size_t *count) {
  return found_curl_easy_recv(easy, to, length, count);
}
CURLcode curl_easy_send(CURL *easy, const void *from, size_t length, size_t *count) {
  return found_curl_easy_send(easy, from, length, count);
}
const char *curl_easy_strerror(CURLcode code) { return load() ? found_curl_easy_strerror(code) : problem; }
CURLMcode curl_multi_cleanup(CURLM *multi) { return found_curl_multi_cleanup(multi); }
CURLMcode curl_multi_add_handle(CURLM *multi, CURL *easy) { return found_curl_multi_add_handle(multi, easy); }
CURLMcode curl_multi_remove_handle(CURLM *multi, CURL *easy) { return found_curl_multi_remove_handle(multi, easy); }
CURLMcode curl_multi_socket_action(CURLM *multi, curl_socket_t socket, int events, int *running) {
  return found_curl_multi_socket_action(multi, socket, events, running);
}
CURLMsg *curl_multi_info_read(CURLM *multi, int *left) { return found_curl_multi_info_read(multi, left); }
CURLSHcode curl_share_cleanup(CURLSH *share) { return found_curl_share_cleanup(share); }
void curl_slist_free_all(struct curl_slist *list) {
  if (list) found_curl_slist_free_all(list);
}
void curl_url_cleanup(CURLU *url) { found_curl_url_cleanup(url); }
CURLUcode curl_url_get(CURLU *url, CURLUPart part, char **text, unsigned flags) {
  return found_curl_url_get(url, part, text, flags);
}
CURLUcode curl_url_set(CURLU *url, CURLUPart part, const char *text, unsigned flags) {
  return found_curl_url_set(url, part, text, flags);
}
const char *curl_url_strerror(CURLUcode code) { return load() ? found_curl_url_strerror(code) : problem; }
void curl_free(void *text) {
  if (text) found_curl_free(text);
}
const char *SSL_get_version(const SSL *session) { return found_SSL_get_version(session); }
