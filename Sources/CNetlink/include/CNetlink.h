#pragma once
/* What the daemon asks the kernel about the network, over rtnetlink (RFC 3549, rtnetlink(7)). Every call returns at once:
   the kernel answers a question before it returns from the question's send(2). */
#include <stdint.h>

/// A socket that hears of changes of links, addresses and routes; non-blocking and close-on-exec. -1 and errno.
int gw_netlink_watch(void);
/// A socket for questions. -1 and errno.
int gw_netlink_open(void);

/// What the reports that waited in a socket say.
struct gw_net_news {
  /// Whether there was any.
  int is_any;
  /// Reports were lost, or more interfaces were touched than there is room for: anything may have happened.
  int is_incomplete;
  /// Interfaces that lost an address, a route or their carrier.
  int count;
  int touched[64];
};
/// Reads all reports. 0, or -1 and errno.
int gw_netlink_read(int socket, struct gw_net_news *news);

/// How packets to an address leave the machine.
struct gw_route {
  int is_local;
  int interface;
  /// Of the same family as the question; zero when the kernel names none.
  uint8_t source[16];
};
/// Asks for the route to an address, given in text. 1; 0 where there is none; -1 and errno (EINVAL: no address).
int gw_netlink_route(int socket, const char *address, struct gw_route *route);
/// Whether an interface is up and has a carrier. 1, 0, or -1 and errno.
int gw_netlink_is_running(int socket, int interface);
/// Whether any interface but the loopback is up, has a carrier and an address that others can reach. 1, 0, or -1 and
/// errno.
int gw_has_usable_address(void);
/// Whether a text is a numeric address.
int gw_is_address(const char *text);
