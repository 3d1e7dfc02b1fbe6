#!/bin/sh
# Two hundred shell loops listen to one server, and the server counts one client. Needs jq.
#
#     two-hundred-loops.sh URL [EVENT [COUNT]]
#
# Each loop prints the first thing that it hears, and ends. When all of them listen, stderr says so.
set -eu

url=${1:?usage: two-hundred-loops.sh URL [EVENT [COUNT]]}
event=${2:-said}
count=${3:-200}

number=0
while [ "$number" -lt "$count" ]; do
  number=$((number + 1))
  gatewayctl subscribe --quiet --args-only -n 1 "$url" "$event" | while read -r args; do
    echo "loop $number heard $args"
  done &
done

# A program as simple as a loop asks the daemon how many there are.
listening() {
  gatewayctl status --json "$url" | jq '[.connections[] | select(.state == "connected").subscriptions] | add'
}
until [ "$(listening)" = "$count" ]; do sleep 0.2; done
echo "$count loops listen on $(gatewayctl connections --json | jq -s length) connection" >&2
wait
