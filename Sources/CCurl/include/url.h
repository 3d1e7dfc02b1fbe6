#pragma once
/* libcurl's URL interface by itself, so that the URL reader needs nothing of the transfers. */
#include <curl/curl.h>
#include <curl/urlapi.h>

/* Why there is no handle: libcurl cannot be loaded, or memory is short. */
const char *gw_curl_problem(void);
