#define _GNU_SOURCE
#include "CNetlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 32 << 10 };

static int open_socket(unsigned groups) {
  int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (descriptor < 0) return -1;
  struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
  int saved = errno;
  close(descriptor);
  errno = saved;
  return -1;
}

int gw_netlink_watch(void) {
  return open_socket(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE);
}

int gw_netlink_open(void) { return open_socket(0); }

/* A datagram of the kernel's; 0 for one of somebody else's. */
static ssize_t receive(int socket, void *buffer) {
  struct sockaddr_nl sender = {0};
  socklen_t length = sizeof sender;
  ssize_t size = recvfrom(socket, buffer, BUFFER, MSG_DONTWAIT, (struct sockaddr *)&sender, &length);
  if (size >= 0 && (length != sizeof sender || sender.nl_pid != 0)) return 0;
  return size;
}

static int route_interface(const struct nlmsghdr *message) {
  const struct rtmsg *route = NLMSG_DATA(message);
  int left = (int)RTM_PAYLOAD(message);
  for (const struct rtattr *each = RTM_RTA(route); RTA_OK(each, left); each = RTA_NEXT(each, left))
    if (each->rta_type == RTA_OIF && RTA_PAYLOAD(each) >= sizeof(int)) return *(const int *)RTA_DATA(each);
  return 0;
}

/* The interface that lost something by a report; 0 for none. */
static int touched(const struct nlmsghdr *message) {
  switch (message->nlmsg_type) {
    case RTM_DELADDR:
      if (message->nlmsg_len < NLMSG_LENGTH(sizeof(struct ifaddrmsg))) return 0;
      return (int)((const struct ifaddrmsg *)NLMSG_DATA(message))->ifa_index;
    case RTM_NEWLINK:
    case RTM_DELLINK: {
      if (message->nlmsg_len < NLMSG_LENGTH(sizeof(struct ifinfomsg))) return 0;
      const struct ifinfomsg *link = NLMSG_DATA(message);
      int is_running = (link->ifi_flags & IFF_UP) && (link->ifi_flags & IFF_RUNNING);
      return message->nlmsg_type == RTM_NEWLINK && is_running ? 0 : link->ifi_index;
    }
    case RTM_DELROUTE:
      if (message->nlmsg_len < NLMSG_LENGTH(sizeof(struct rtmsg))) return 0;
      return route_interface(message);
    default: return 0;
  }
}

static void note(struct gw_net_news *news, int interface) {
  for (int i = 0; i < news->count; i++)
    if (news->touched[i] == interface) return;
  if (news->count == sizeof news->touched / sizeof *news->touched)
    news->is_incomplete = 1;
  else
    news->touched[news->count++] = interface;
}

int gw_netlink_read(int socket, struct gw_net_news *news) {
  _Alignas(struct nlmsghdr) char buffer[BUFFER];
  memset(news, 0, sizeof *news);
  /* Bounded, so that a storm of reports cannot hold the loop: what is left wakes it again. */
  for (int round = 0; round < 256; round++) {
    ssize_t size = receive(socket, buffer);
    if (size < 0 && errno == ENOBUFS) {
      news->is_any = news->is_incomplete = 1;
      continue;
    }
    if (size < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
    unsigned left = (unsigned)size;
    for (const struct nlmsghdr *each = (void *)buffer; NLMSG_OK(each, left); each = NLMSG_NEXT(each, left)) {
      news->is_any = 1;
      int interface = touched(each);
      if (interface > 0) note(news, interface);
    }
  }
  return 0;
}

/* Sends a question and receives its answer into the buffer. NULL and errno when the answer is an error. */
static const struct nlmsghdr *ask(int socket, struct nlmsghdr *question, char *buffer) {
  static _Atomic uint32_t last;
  uint32_t number = ++last;
  question->nlmsg_seq = number;
  question->nlmsg_flags |= NLM_F_REQUEST;
  struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  if (sendto(socket, question, question->nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0) return NULL;
  /* Answers to earlier questions, if any were left, have another number. */
  for (int round = 0; round < 16; round++) {
    ssize_t size = receive(socket, buffer);
    if (size < 0) return NULL;
    const struct nlmsghdr *answer = (void *)buffer;
    if (!NLMSG_OK(answer, (unsigned)size) || answer->nlmsg_seq != number) continue;
    if (answer->nlmsg_type != NLMSG_ERROR) return answer;
    errno = answer->nlmsg_len >= NLMSG_LENGTH(sizeof(int)) ? -*(const int *)NLMSG_DATA(answer) : EPROTO;
    return NULL;
  }
  errno = EPROTO;
  return NULL;
}

int gw_is_address(const char *text) {
  uint8_t address[16];
  return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

int gw_netlink_route(int socket, const char *address, struct gw_route *route) {
  struct {
    struct nlmsghdr head;
    struct rtmsg route;
    struct rtattr attribute;
    uint8_t destination[16];
  } question = {0};
  int is_four = inet_pton(AF_INET, address, question.destination) == 1;
  if (!is_four && inet_pton(AF_INET6, address, question.destination) != 1) {
    errno = EINVAL;
    return -1;
  }
  unsigned size = is_four ? 4 : 16;
  question.head.nlmsg_len = (unsigned)(NLMSG_LENGTH(sizeof question.route) + RTA_LENGTH(size));
  question.head.nlmsg_type = RTM_GETROUTE;
  question.route.rtm_family = is_four ? AF_INET : AF_INET6;
  question.route.rtm_dst_len = (uint8_t)(size * 8);
  question.attribute.rta_type = RTA_DST;
  question.attribute.rta_len = (unsigned short)RTA_LENGTH(size);

  _Alignas(struct nlmsghdr) char buffer[BUFFER];
  const struct nlmsghdr *answer = ask(socket, &question.head, buffer);
  memset(route, 0, sizeof *route);
  if (!answer) {
    switch (errno) {
      case ENETUNREACH:
      case EHOSTUNREACH:
      case EACCES: /* a prohibiting route */
      case EINVAL: /* a black hole */
      case ENETDOWN:
      case ENODEV: return 0;
      default: return -1;
    }
  }
  if (answer->nlmsg_type != RTM_NEWROUTE || answer->nlmsg_len < NLMSG_LENGTH(sizeof(struct rtmsg))) {
    errno = EPROTO;
    return -1;
  }
  const struct rtmsg *found = NLMSG_DATA(answer);
  if (found->rtm_type == RTN_UNREACHABLE || found->rtm_type == RTN_BLACKHOLE || found->rtm_type == RTN_PROHIBIT) return 0;
  route->is_local = found->rtm_type == RTN_LOCAL;
  route->interface = route_interface(answer);
  int left = (int)RTM_PAYLOAD(answer);
  for (const struct rtattr *each = RTM_RTA(found); RTA_OK(each, left); each = RTA_NEXT(each, left))
    if (each->rta_type == RTA_PREFSRC && RTA_PAYLOAD(each) >= size) memcpy(route->source, RTA_DATA(each), size);
  return 1;
}

int gw_netlink_is_running(int socket, int interface) {
  struct {
    struct nlmsghdr head;
    struct ifinfomsg link;
  } question = {.head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)), .nlmsg_type = RTM_GETLINK},
                .link = {.ifi_index = interface}};
  _Alignas(struct nlmsghdr) char buffer[BUFFER];
  const struct nlmsghdr *answer = ask(socket, &question.head, buffer);
  if (!answer) return errno == ENODEV ? 0 : -1;
  if (answer->nlmsg_type != RTM_NEWLINK || answer->nlmsg_len < NLMSG_LENGTH(sizeof(struct ifinfomsg))) {
    errno = EPROTO;
    return -1;
  }
  const struct ifinfomsg *link = NLMSG_DATA(answer);
  return (link->ifi_flags & IFF_UP) && (link->ifi_flags & IFF_RUNNING);
}

int gw_has_usable_address(void) {
  struct ifaddrs *all;
  if (getifaddrs(&all) < 0) return -1;
  int found = 0;
  for (const struct ifaddrs *each = all; each && !found; each = each->ifa_next) {
    unsigned wanted = IFF_UP | IFF_RUNNING;
    if (!each->ifa_addr || (each->ifa_flags & wanted) != wanted || (each->ifa_flags & IFF_LOOPBACK)) continue;
    if (each->ifa_addr->sa_family == AF_INET) found = 1;
    if (each->ifa_addr->sa_family == AF_INET6)
      found = !IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)each->ifa_addr)->sin6_addr);
  }
  freeifaddrs(all);
  return found;
}
