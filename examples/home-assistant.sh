#!/bin/sh
# Prints each change of a state in a Home Assistant, whose WebSocket wants a login first and an order for what it shall
# send. The daemon says both at every connect, so that the loop survives restarts of the Home Assistant. Needs jq.
#
#     home-assistant.sh URL TOKENFILE
#     home-assistant.sh raw+wss://home.example/api/websocket ~/.config/home-assistant.token
#
# Prints lines such as `light.kitchen on`. TOKENFILE holds a long-lived access token alone.
set -eu

url=${1:?usage: home-assistant.sh URL TOKENFILE}
tokenfile=${2:?which file has the token?}

# The words of a command line are seen by everybody on the machine, what goes to standard input is not; and a file of
# the login would be left behind by a signal.
login=$(jq -R '["message", {type: "auth", access_token: .}]' "$tokenfile")

# Nothing undoes a login. The order has a number, by which Home Assistant knows it again; a program that asks for other
# events on the same connection takes a higher one.
printf '%s\n' "$login" |
  gatewayctl subscribe --args-only \
    --enter @/dev/stdin --leave null \
    --enter '["message", {"id": 1, "type": "subscribe_events", "event_type": "state_changed"}]' \
    --leave '["message", {"id": 2, "type": "unsubscribe_events", "subscription": 1}]' \
    "$url" |
  jq -r --unbuffered '.[0] | select(.type == "event").event.data | "\(.entity_id) \(.new_state.state)"'
