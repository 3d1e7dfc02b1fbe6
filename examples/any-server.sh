#!/bin/sh
# The same program for every kind of server: it listens for `said`, says something with `say`, and asks `echo`. What the
# server speaks (Socket.IO, WAMP, JSON lines over TCP) stands in the daemon's configuration alone.
#
#     any-server.sh UPSTREAM
set -eu

upstream=${1:?usage: any-server.sh UPSTREAM, a name in the configuration of gatewayd}
events=$(mktemp)
listener=
trap '[ -z "$listener" ] || kill "$listener" 2>/dev/null || :; rm -f "$events"' EXIT
# Not every shell does that at a signal by itself.
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# Listen in the background, and go on once the subscription lives.
gatewayctl subscribe --state -n 1 --for 10s "$upstream" said >"$events" &
listener=$!
until grep -q '"state":"connected"' "$events"; do
  kill -0 "$listener" || exit 1
  sleep 0.1
done

gatewayctl send --delivery sent -q "$upstream" say hello
wait "$listener"
listener=
grep '"event":"said"' "$events" | sed 's/.*"args":\(\[[^]]*\]\).*/said \1/'

printf 'echo '
gatewayctl request "$upstream" echo '{"n":1}'

# An error of the server's application is no breakdown of the connection, and has an exit code of its own.
gatewayctl request "$upstream" fail >/dev/null 2>&1 && echo 'no error' || echo "error $?"
