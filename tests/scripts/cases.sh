#!/bin/bash
# One case in its namespace: cases.sh NAME SCRIPTS DIR. Each function called case_… is
# one; tests/scripts/run calls them all.
# shellcheck disable=SC2016 # tools are written here and expand elsewhere
set -euo pipefail

name=$1 scripts=$2 dir=$3
calls=$dir/calls

fail() {
	echo "$*"
	echo "--- said:"
	cat "$dir/said" 2>/dev/null || true
	echo "--- called:"
	cat "$calls" 2>/dev/null || true
	exit 1
}

# A tool in front of PATH: $1 its name, the script from standard input.
tool() {
	{
		echo '#!/bin/bash'
		printf 'echo "%s $*" >>%s\n' "$1" "$calls"
		cat
	} >"$dir/bin/$1"
	chmod +x "$dir/bin/$1"
}

disk() {
	mkdir -p "$1"
	mount -t tmpfs -o size=16m disk "$1"
}

prepare() {
	mkdir -p "$dir/bin" "$dir/state"
	: >"$calls"
	: >"$dir/fstab"
	for place in /opt /var/lib /var/log; do
		mount -t tmpfs -o size=16m fake "$place"
	done
	mkdir -p /var/lib/containerd /var/lib/kubelet
	echo image >/var/lib/containerd/meta.db
	echo config >/var/lib/kubelet/config
	touch "$dir/state/kubelet" "$dir/state/containerd"
	tool lsblk <<<'cat "$FAKE/models" 2>/dev/null'
	tool modprobe <<<'[ -e "$FAKE/lustre" ]'
	tool containerd <<<'cat "$FAKE/containerd.toml" 2>/dev/null'
	tool systemctl <<'END'
case $1 in
is-active) [ -e "$FAKE/state/$3" ] ;;
stop) rm "$FAKE/state/$2" ;;
start) touch "$FAKE/state/$2" ;;
esac
END
	export FAKE=$dir PATH=$dir/bin:$PATH LIFECYCLE_FSTAB=$dir/fstab
	export LIFECYCLE_DISK_WAIT_SECONDS=1 LIFECYCLE_VOLUME_WAIT_SECONDS=1
	export LIFECYCLE_FAILURE_WAIT_SECONDS=0
}

has_store() {
	echo 'Amazon EC2 NVMe Instance Storage' >"$dir/models"
}

# Runs them; the status must be $1.
expect_status() {
	local status=0

	bash "$scripts/on_create.sh" >"$dir/said" 2>&1 || status=$?
	[ "$status" = "$1" ] || fail "status $status, not $1"
}

expect_said() {
	grep -q "$1" "$dir/said" || fail "does not say: $1"
}

expect_moved_to() {
	local place
	for place in containerd kubelet; do
		mountpoint -q "/var/lib/$place" || fail "/var/lib/$place is not bound"
		[ -d "$1/$place" ] || fail "no $1/$place"
	done
	[ "$(cat "$1/containerd/meta.db")" = image ] || fail "containerd's data did not move"
	[ "$(cat /var/lib/kubelet/config)" = config ] || fail "kubelet's data did not move"
	[ "$(grep -c 'none bind,nofail' "$dir/fstab")" = 2 ] || fail "fstab: $(cat "$dir/fstab")"
}

expect_running() {
	[ -e "$dir/state/kubelet" ] || fail 'kubelet does not run'
	[ -e "$dir/state/containerd" ] || fail 'containerd does not run'
}

# --- where to ------------------------------------------------------------------------

case_no_disk() {
	expect_status 0
	expect_said 'root volume it is'
	! mountpoint -q /var/lib/containerd || fail 'something was bound'
	! grep -q 'systemctl stop' "$calls" || fail 'services were stopped for nothing'
}

case_instance_store() {
	has_store
	disk /opt/dlami/nvme
	disk /opt/sagemaker
	expect_status 0
	expect_moved_to /opt/dlami/nvme
	expect_running
}

case_volume() {
	disk /opt/sagemaker
	expect_status 0
	expect_moved_to /opt/sagemaker
	expect_running
}

# Mounted while the script runs already.
case_late_volume() {
	export LIFECYCLE_VOLUME_WAIT_SECONDS=10
	(
		sleep 2
		disk /opt/sagemaker
	) &
	expect_status 0
	expect_moved_to /opt/sagemaker
}

case_late_instance_store() {
	export LIFECYCLE_DISK_WAIT_SECONDS=10
	has_store
	(
		sleep 2
		disk /opt/dlami/nvme
	) &
	expect_status 0
	expect_moved_to /opt/dlami/nvme
}

# Assembled never: the other disk is taken.
case_broken_instance_store() {
	has_store
	disk /opt/sagemaker
	expect_status 0
	expect_moved_to /opt/sagemaker
}

# A folder of that name is no disk.
case_unmounted_folder() {
	mkdir -p /opt/sagemaker /opt/dlami/nvme
	expect_status 0
	expect_said 'root volume it is'
}

case_another_root_of_containerd() {
	disk /opt/sagemaker
	mkdir -p /var/lib/other
	echo layers >/var/lib/other/meta.db
	printf 'version = 3\nroot = %s/var/lib/other%s\nstate = "/run/containerd"\n' \
		"'" "'" >"$dir/containerd.toml"
	expect_status 0
	mountpoint -q /var/lib/other || fail 'its root is not bound'
	[ "$(cat /opt/sagemaker/containerd/meta.db)" = layers ] || fail 'its data did not move'
}

# --- what is there already -----------------------------------------------------------

case_data_of_an_earlier_system() {
	disk /opt/sagemaker
	mkdir -p /opt/sagemaker/containerd/snapshots /opt/sagemaker/kubelet /opt/sagemaker/data
	echo old >/opt/sagemaker/containerd/meta.db
	echo layer >/opt/sagemaker/containerd/snapshots/1
	echo theirs >/opt/sagemaker/data/checkpoint
	expect_status 0
	expect_said 'of an earlier system: it is dropped'
	expect_moved_to /opt/sagemaker
	[ ! -e /opt/sagemaker/containerd/snapshots ] || fail 'old layers are left'
	[ -e /opt/sagemaker/data/checkpoint ] || fail 'data of others is gone'
}

case_twice() {
	disk /opt/sagemaker
	expect_status 0
	echo pulled >/var/lib/containerd/layer
	expect_status 0
	expect_said 'on its own volume already'
	expect_moved_to /opt/sagemaker
	[ "$(cat /opt/sagemaker/containerd/layer)" = pulled ] || fail 'the second run dropped data'
}

# --- services ------------------------------------------------------------------------

case_order_of_services() {
	local want='stop kubelet,stop containerd,start containerd,start kubelet,'

	disk /opt/sagemaker
	expect_status 0
	[ "$(sed -n 's/^systemctl \(st.*\)/\1/p' "$calls" | tr '\n' ,)" = "$want" ] || fail order
}

case_stopped_services_stay_so() {
	disk /opt/sagemaker
	rm "$dir/state/kubelet" "$dir/state/containerd"
	expect_status 0
	expect_moved_to /opt/sagemaker
	! grep -q 'systemctl start' "$calls" || fail 'something was started'
}

case_lustre() {
	touch "$dir/lustre"
	expect_status 0
	expect_said 'the Lustre client is loaded'
	grep -q 'modprobe lustre' "$calls" || fail 'lustre was not loaded'
}

case_no_lustre() {
	expect_status 0
	expect_said 'no Lustre client in this image'
}

# --- failure -------------------------------------------------------------------------

# The disk is full: the reason is in the log, the status is handed on, and the log
# agent gets its time.
case_failure() {
	local start=$SECONDS

	export LIFECYCLE_FAILURE_WAIT_SECONDS=3
	disk /opt/sagemaker
	tool cp <<<'echo "cp: no space left on device" >&2; exit 1'
	expect_status 1
	expect_said 'no space left on device'
	expect_said 'failed with status 1; waiting 3 s'
	[ $((SECONDS - start)) -ge 3 ] || fail 'it did not wait'
	grep -q 'no space left' /var/log/provision/provisioning.log || fail 'the log lacks it'
}

case_failure_waits_a_minute() {
	unset LIFECYCLE_FAILURE_WAIT_SECONDS
	disk /opt/sagemaker
	tool cp <<<'exit 7'
	tool sleep <<<''
	expect_status 7
	grep -qx 'sleep 60' "$calls" || fail 'not a minute'
}

case_success_does_not_wait() {
	unset LIFECYCLE_FAILURE_WAIT_SECONDS
	disk /opt/sagemaker
	tool sleep <<<''
	expect_status 0
	! grep -q '^sleep' "$calls" || fail 'it waited'
}

prepare
"case_$name"
