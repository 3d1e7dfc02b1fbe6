#include "protocol.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "failure.h"
#include "target.h"

/* Up to and with the next line feed. */
static size_t line(const char *bytes, size_t count) {
  const char *end = memchr(bytes, '\n', count);
  return end ? (size_t)(end - bytes) + 1 : 0;
}

static _Noreturn void refused(const char *bytes, size_t count) {
  errno = 0;
  fail("refused: %.*s", (int)count, bytes);
}

/* gatewayd: JSON-RPC lines. */

static int gatewayd_greet(struct buffer *out, const struct wish *wish, int client) {
  (void)client;
  if (wish->subscriptions == 0) {
    buffer_print(out, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    return 1;
  }
  for (int i = 0; i < wish->subscriptions; i++)
    buffer_print(out,
                 "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"subscribe\",\"params\":{\"%s\":\"%s\","
                 "\"events\":[\"blast\"]}}\n",
                 i + 1, target_member(wish->url), wish->url);
  return wish->subscriptions;
}

static size_t gatewayd_answer(const char *bytes, size_t count) {
  size_t length = line(bytes, count);
  if (length && !memmem(bytes, length, "\"result\"", 8)) refused(bytes, length);
  return length;
}

/* The relay: `S` subscribes, `I` is idle; both are answered by one line. */

static int relay_greet(struct buffer *out, const struct wish *wish, int client) {
  (void)client;
  buffer_print(out, wish->subscriptions ? "S\n" : "I\n");
  return 1;
}

/* redis: inline commands; an answer and a published message are arrays of three. */

static int redis_greet(struct buffer *out, const struct wish *wish, int client) {
  (void)client;
  if (wish->subscriptions == 0) {
    buffer_print(out, "PING\r\n");
    return 1;
  }
  buffer_print(out, "SUBSCRIBE blast");
  for (int i = 1; i < wish->subscriptions; i++) buffer_print(out, " idle%d", i);
  buffer_print(out, "\r\n");
  return wish->subscriptions;
}

static size_t redis_answer(const char *bytes, size_t count) {
  if (*bytes == '-') refused(bytes, count);
  if (*bytes == '+') return line(bytes, count);
  size_t length = 0;
  for (int i = 0; i < 6; i++) {
    size_t one = line(bytes + length, count - length);
    if (!one) return 0;
    length += one;
  }
  return length;
}

/* `*3 $7 message $5 blast $N payload`: the payload's length decides. */
static size_t redis_record(const char *bytes, size_t count) {
  size_t length = 0;
  for (int i = 0; i < 6; i++) {
    size_t one = line(bytes + length, count - length);
    if (!one) return 0;
    length += one;
  }
  const char *size = memmem(bytes, length, "blast\r\n$", 8);
  errno = 0;
  if (!size) fail("not a message: %.*s", (int)length, bytes);
  size_t record = length + strtoul(size + 8, NULL, 10) + strlen("\r\n");
  return count < record ? 0 : record;
}

/* mosquitto: MQTT 3.1.1, QoS 0. */

static int mosquitto_greet(struct buffer *out, const struct wish *wish, int client) {
  char id[16];
  int length = snprintf(id, sizeof id, "r%d", client);
  const char connect[] = {0x10, (char)(12 + length), 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 0, 0, (char)length};
  buffer_append(out, connect, sizeof connect);
  buffer_append(out, id, (size_t)length);
  for (int i = 0; i < wish->subscriptions; i++) {
    char topic[16];
    int count = i ? snprintf(topic, sizeof topic, "idle%d", i) : snprintf(topic, sizeof topic, "blast");
    const char subscribe[] = {(char)0x82, (char)(5 + count), (char)((i + 1) >> 8), (char)(i + 1), 0, (char)count};
    buffer_append(out, subscribe, sizeof subscribe);
    buffer_append(out, topic, (size_t)count);
    buffer_append(out, "\0", 1);
  }
  return 1 + wish->subscriptions;
}

/* CONNACK `20 02 00 code` or SUBACK `90 03 id id code`. */
static size_t mosquitto_answer(const char *bytes, size_t count) {
  if (count < 2 || count < 2u + (uint8_t)bytes[1]) return 0;
  size_t length = 2u + (uint8_t)bytes[1];
  errno = 0;
  if (bytes[length - 1]) fail("the broker answered code %d", bytes[length - 1]);
  return length;
}

static size_t mosquitto_record(const char *bytes, size_t count) {
  size_t remaining = 0, at = 1;
  for (int shift = 0; at < count && shift < 28; shift += 7) {
    uint8_t byte = (uint8_t)bytes[at++];
    remaining |= (size_t)(byte & 127) << shift;
    if (byte < 128) return at + remaining <= count ? at + remaining : 0;
  }
  return 0;
}

/* nats: lines; a message is `MSG blast 1 200` and the payload on a line of its own. */

static int nats_greet(struct buffer *out, const struct wish *wish, int client) {
  (void)client;
  buffer_print(out, "CONNECT {\"verbose\":false}\r\n");
  for (int i = 0; i < wish->subscriptions; i++)
    if (i)
      buffer_print(out, "SUB idle%d %d\r\n", i, i + 1);
    else
      buffer_print(out, "SUB blast 1\r\n");
  buffer_print(out, "PING\r\n");
  return 2;
}

/* INFO, then PONG. */
static size_t nats_answer(const char *bytes, size_t count) {
  if (*bytes == '-') refused(bytes, count);
  return line(bytes, count);
}

static size_t nats_record(const char *bytes, size_t count) {
  size_t head = line(bytes, count);
  if (!head || *bytes != 'M') return head;
  const char *size = memrchr(bytes, ' ', head);
  size_t record = head + (size ? strtoul(size, NULL, 10) : 0) + strlen("\r\n");
  return count < record ? 0 : record;
}

static const struct protocol protocols[] = {
    {"gatewayd", gatewayd_greet, gatewayd_answer, line, 5, '\n'},
    {"relay", relay_greet, line, line, 2, '\n'},
    {"redis", redis_greet, redis_answer, redis_record, 3, '\n'},
    {"nats", nats_greet, nats_answer, nats_record, 3, '\n'},
    {"mosquitto", mosquitto_greet, mosquitto_answer, mosquitto_record, 1, '"'},
    /* The relay, given gatewayd's own notifications to copy. */
    {"relay-notification", relay_greet, line, line, 5, '\n'},
};

const struct protocol *protocol_named(const char *name) {
  for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
    if (strcmp(protocols[i].name, name) == 0) return &protocols[i];
  errno = 0;
  fail("unknown protocol '%s'", name);
}
