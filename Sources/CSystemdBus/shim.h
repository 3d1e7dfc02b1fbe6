#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

/* Calls on the bus are variadic, which Swift does not see. */

/// What the service manager says of the unit of this process.
struct gw_unit_facts {
  /// The type of its present job, such as `restart`; empty where it has none.
  char job[32];
  /// FileDescriptorStoreMax=.
  uint32_t store;
};

static inline int gw_read_unit_facts(sd_bus *bus, struct gw_unit_facts *facts) {
  static const char *const manager = "org.freedesktop.systemd1";
  sd_bus_message *reply = 0, *job = 0;
  const char *unit = 0, *path = 0;
  char *type = 0;
  uint32_t number = 0;
  int result = sd_bus_call_method(
      bus, manager, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "GetUnitByPID", 0, &reply, "u",
      (uint32_t)getpid());
  if (result >= 0) result = sd_bus_message_read(reply, "o", &unit);
  if (result >= 0)
    result = sd_bus_get_property_trivial(
        bus, manager, unit, "org.freedesktop.systemd1.Service", "FileDescriptorStoreMax", 0, 'u', &facts->store);
  if (result >= 0)
    result = sd_bus_get_property(bus, manager, unit, "org.freedesktop.systemd1.Unit", "Job", 0, &job, "(uo)");
  if (result >= 0) result = sd_bus_message_read(job, "(uo)", &number, &path);
  if (result >= 0 && number != 0) {
    result = sd_bus_get_property_string(
        bus, manager, path, "org.freedesktop.systemd1.Job", "JobType", 0, &type);
    if (result >= 0) strncpy(facts->job, type, sizeof facts->job - 1);
    free(type);
  }
  sd_bus_message_unref(job);
  sd_bus_message_unref(reply);
  return result;
}

/// Asks on the system's bus or the user's. Each step takes so many microseconds at most, but a bus that lets one connect
/// and never answers holds the caller for ever. 0 or more, or a negative errno value.
static inline int gw_ask_unit_facts(int is_user, uint64_t microseconds, struct gw_unit_facts *facts) {
  sd_bus *bus = 0;
  memset(facts, 0, sizeof *facts);
  int result = is_user ? sd_bus_open_user(&bus) : sd_bus_open_system(&bus);
  if (result >= 0) result = sd_bus_set_method_call_timeout(bus, microseconds);
  if (result >= 0) result = gw_read_unit_facts(bus, facts);
  sd_bus_flush_close_unref(bus);
  return result;
}
