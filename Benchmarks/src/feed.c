#include "feed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "failure.h"
#include "payload.h"
#include "websocket.h"

static const size_t batch_limit = 128 << 10;

static void append_text(struct buffer *b, const char *text) { buffer_append(b, text, strlen(text)); }

/* Appends the payload and remembers where its number is. */
static void append_payload(struct feed *feed, size_t payload) {
  struct buffer *b = &feed->record;
  buffer_reserve(b, payload);
  char *at = b->base + b->end;
  memset(at, 'x', payload);
  at[0] = at[payload - 1] = '"';
  feed->number_at = b->end + payload - 1 - NUMBER_DIGITS;
  char *time = b->base + feed->number_at - 1 - TIME_DIGITS;
  time[-1] = time[TIME_DIGITS] = ' ';
  digits_write(time, TIME_DIGITS, 0);
  b->end += payload;
}

static void prepare_socketio(struct feed *feed, const char *space, size_t payload) {
  char event[160];
  uint8_t head[10];
  snprintf(event, sizeof event, "42%s%s[\"blast\",", space, *space ? "," : "");
  buffer_append(&feed->record, head, ws_head(head, WS_TEXT, strlen(event) + payload + 1));
  append_text(&feed->record, event);
  append_payload(feed, payload);
  append_text(&feed->record, "]");
}

/* The very bytes that gatewayd writes per delivery, so that a relay can be given the same amount of work. */
static void prepare_notification(struct feed *feed, size_t payload) {
  append_text(&feed->record,
              "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{\"subscription\":\"s1\",\"seq\":1000000,"
              "\"time\":1700000000000,\"event\":\"blast\",\"args\":[");
  append_payload(feed, payload);
  append_text(&feed->record, "]}}\n");
}

static void prepare_redis(struct feed *feed, size_t payload) {
  buffer_print(&feed->record, "*3\r\n$7\r\nPUBLISH\r\n$5\r\nblast\r\n$%zu\r\n", payload);
  append_payload(feed, payload);
  append_text(&feed->record, "\r\n");
}

static void prepare_nats(struct feed *feed, size_t payload) {
  buffer_print(&feed->record, "PUB blast %zu\r\n", payload);
  append_payload(feed, payload);
  append_text(&feed->record, "\r\n");
}

/* MQTT 3.1.1 section 3.3, QoS 0; the remaining length as in section 2.2.3. */
static void prepare_mqtt(struct feed *feed, size_t payload) {
  size_t remaining = 2 + 5 + payload;
  buffer_append(&feed->record, "\x30", 1);
  do {
    uint8_t byte = (uint8_t)(remaining % 128 | (remaining >= 128 ? 128 : 0));
    buffer_append(&feed->record, &byte, 1);
    remaining /= 128;
  } while (remaining);
  buffer_append(&feed->record, "\0\5blast", 7);
  append_payload(feed, payload);
}

void feed_prepare(struct feed *feed, const char *format, const char *space, size_t payload) {
  errno = 0;
  if (payload < PAYLOAD_MINIMUM) fail("a payload has at least %d bytes", PAYLOAD_MINIMUM);
  if (strcmp(format, "socketio") == 0) return prepare_socketio(feed, space, payload);
  if (strcmp(format, "notification") == 0) return prepare_notification(feed, payload);
  if (strcmp(format, "redis") == 0) return prepare_redis(feed, payload);
  if (strcmp(format, "nats") == 0) return prepare_nats(feed, payload);
  if (strcmp(format, "mqtt") == 0) return prepare_mqtt(feed, payload);
  if (strcmp(format, "line") != 0) fail("unknown format '%s'", format);
  append_payload(feed, payload);
  append_text(&feed->record, "\n");
}

void feed_start(struct feed *feed, uint64_t total, uint64_t window, uint64_t rate) {
  feed->sent = feed->confirmed = 0;
  feed->total = total;
  feed->window = window;
  feed->rate = rate;
  feed->started = clock_now();
}

/* How many events the window and the rate let through now. */
static uint64_t allowance(const struct feed *feed, uint64_t now) {
  uint64_t limit = feed->confirmed + feed->window;
  if (limit > feed->total) limit = feed->total;
  if (feed->rate) {
    uint64_t due = (uint64_t)((double)(now - feed->started) * 1e-9 * (double)feed->rate);
    if (limit > due) limit = due;
  }
  return limit > feed->sent ? limit - feed->sent : 0;
}

bool feed_release(struct feed *feed, struct buffer *out) {
  uint64_t now = clock_now();
  uint64_t count = allowance(feed, now);
  size_t size = feed->record.end;
  if (count > 1 && count * size > batch_limit) count = batch_limit / size + 1;
  char *number = feed->record.base + feed->number_at;
  digits_write(number, NUMBER_DIGITS, feed->sent);
  if (feed->rate) digits_write(number - 1 - TIME_DIGITS, TIME_DIGITS, now);
  for (uint64_t i = 0; i < count; i++) {
    buffer_append(out, feed->record.base, size);
    digits_advance(number, NUMBER_DIGITS);
  }
  feed->sent += count;
  return count;
}

uint64_t feed_wait(const struct feed *feed) {
  if (feed->sent >= feed->total || feed->sent >= feed->confirmed + feed->window) return UINT64_MAX;
  if (!feed->rate) return 0;
  uint64_t due = feed->started + (uint64_t)((double)(feed->sent + 1) * 1e9 / (double)feed->rate) + 1;
  uint64_t now = clock_now();
  return due > now ? due - now : 0;
}
