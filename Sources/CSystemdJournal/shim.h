#pragma once
/* Without this the calls are macros that add C source locations, which Swift cannot import. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>
