#pragma once
#include <sqlite3.h>

/* SQLITE_TRANSIENT is a cast, which Swift does not import: SQLite copies what is bound. */
static inline int gw_bind_text(sqlite3_stmt *statement, int place, const char *text, int count) {
  return sqlite3_bind_text(statement, place, text, count, SQLITE_TRANSIENT);
}

static inline int gw_bind_blob(sqlite3_stmt *statement, int place, const void *bytes, int count) {
  return sqlite3_bind_blob(statement, place, bytes, count, SQLITE_TRANSIENT);
}

/* SQLite takes the bytes where they are: they stay there until the statement has run. */
static inline int gw_bind_borrowed_blob(sqlite3_stmt *statement, int place, const void *bytes, int count) {
  return sqlite3_bind_blob(statement, place, bytes, count, SQLITE_STATIC);
}

/* Before the first database is opened: SQLite counts no memory; the daemon does not ask for it, and each count takes a
   lock. */
static inline int gw_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

/* Variadic functions are not imported either: closing leaves the write-ahead log as it is. */
static inline int gw_keep_log_on_close(sqlite3 *database, int keep) {
  return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep, (int *)0);
}
