#!/bin/bash
# Entry point of a HyperPod node's first boot (LifeCycleConfig.OnCreate).
# Runs as root. What it prints reaches the CloudWatch stream
# LifecycleConfig/<group>/<instance>; a copy stays on the node. The exit status
# decides whether the node joins, so the real work's status is handed on.

set -u
set -o pipefail

log=/var/log/provision/provisioning.log
mkdir -p "$(dirname "$log")"
touch "$log"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# The instance is taken away as soon as a script fails, and the agent that uploads
# its log reads it every few seconds: a minute is what AWS's own scripts give it.
failure_wait=${LIFECYCLE_FAILURE_WAIT_SECONDS:-60}

say() {
	printf '%s [on_create] %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*" | tee -a "$log"
}

say "start on $(hostname), scripts in $here"
bash "$here/on_create_main.sh" 2>&1 | tee -a "$log"
status=${PIPESTATUS[0]}
if [ "$status" -ne 0 ]; then
	say "failed with status $status; waiting $failure_wait s so that this log is uploaded"
	sync
	sleep "$failure_wait"
else
	say "done"
fi
exit "$status"
