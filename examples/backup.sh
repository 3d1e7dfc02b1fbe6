#!/bin/sh
# Makes a backup while a monitor of an Uptime Kuma is paused, and lets the monitor go on whatever becomes of the backup:
# when it fails, when it is interrupted, and when the Kuma is away at that moment. Needs jq.
#
#     backup.sh UPSTREAM MONITOR COMMAND [ARGUMENT…]
#     backup.sh kuma 3 borg create ::{now} /srv
#
# The exit code is that of COMMAND. UPSTREAM stands in the daemon's configuration, which logs in at every connect, so
# that no script knows the password:
#
#     [upstream.kuma]
#     url = "https://status.example"
#     on_connect = [["login", { username = "backup", password = "…" }]]
set -u

upstream=${1:?usage: backup.sh UPSTREAM MONITOR COMMAND [ARGUMENT…]}
monitor=${2:?which monitor?}
shift 2

# On the daemon's disk before the script ends, and written until the Kuma has answered.
resume() {
  gatewayctl send --quiet --delivery durable --retries 10 "$upstream" resumeMonitor "$monitor"
}
trap resume EXIT
stop() {
  [ -z "$backup" ] || kill "$backup"
  wait
  exit "$1"
}
backup=
trap 'stop 129' HUP
trap 'stop 130' INT
trap 'stop 143' TERM

# A monitor that cannot be paused is no reason to have no backup. The Kuma says what went wrong in its answer.
if answer=$(gatewayctl request --timeout 10s "$upstream" pauseMonitor "$monitor"); then
  printf '%s\n' "$answer" | jq -r 'select(.ok | not) | "monitor not paused: \(.msg)"' >&2
fi

# In the background, because a shell hears a signal only when what it waits for in front has ended; with its standard
# input, which the shell would take away there.
exec 3<&0
"$@" <&3 3<&- &
backup=$!
wait "$backup"
