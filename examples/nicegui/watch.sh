#!/bin/sh
# Watches a page of NiceGUI from the shell: prints each text that changes on it, for as long as it runs. Needs curl and jq.
#
#     watch.sh SERVER [PATH]
#     watch.sh http://localhost:8080 /
#
# NiceGUI speaks Socket.IO under a path of its own. It knows a browser by what it wrote into its page, so that the page is
# loaded first. After a restart it knows that page no more and refuses, and the page is loaded again, as a browser does.
set -u

server=${1:?usage: watch.sh SERVER [PATH]}
path=${2:-/}
unique() { cat /proc/sys/kernel/random/uuid; }

while :; do
  client=$(curl -fs --retry 60 --retry-connrefused --retry-delay 1 "$server$path" |
    sed -n "s/.*client_id['\"]: *['\"]\([^'\"]*\).*/\1/p")
  [ -n "$client" ] || { echo "no page of NiceGUI at $server$path" >&2; exit 69; }

  # jq ends at the refusal, and with it the subscription.
  gatewayctl subscribe --quiet --state --path /_nicegui_ws/socket.io/ \
    --query "client_id=$client" --query "document_id=$(unique)" --query "tab_id=$(unique)" \
    --query implicit_handshake=true "$server" update |
    jq -nr --unbuffered '
      label $page | inputs
      | if .reason? == "refused" then break $page else .args?[0]? // {} end
      | to_entries[] | .value.text? // empty'
done
