#!/bin/sh
# A step of a CI job: waits until the server tells what became of this commit's deployment. Needs jq.
#
#     wait-for-event.sh UPSTREAM COMMIT [TIME]
#     wait-for-event.sh deployments "$CI_COMMIT_SHA" 15m
#
# The server sends the event `deployed` with {"commit":"4f1c…","state":"succeeded"}. Exit 0: succeeded; 1: it ended
# otherwise, and stdout says how; 124: nothing was told of it in TIME. What was told before the step began counts, as far
# as the daemon remembers: with `keep = "always"` at the upstream it listens also while no job runs.
set -u

upstream=${1:?usage: wait-for-event.sh UPSTREAM COMMIT [TIME]}
commit=${2:?which commit?}
time=${3:-10m}

# jq ends with the first event that fits; gatewayctl notices that it has no reader any more, and ends as well.
state=$(
  gatewayctl subscribe --quiet --args-only --last 1000 --for "$time" "$upstream" deployed |
    jq -nr --arg commit "$commit" 'first(inputs[0] | select(.commit == $commit).state)'
)
echo "${state:-not told within $time}"
case $state in
  succeeded) exit 0 ;;
  '') exit 124 ;;
  *) exit 1 ;;
esac
