#!/bin/bash
# Moves container storage (containerd, kubelet) to the largest fast disk that
# HyperPod mounted: instance store first, then the extra EBS volume. The root
# volume is too small for training images, and a full one evicts every pod.
# A node without either keeps its root volume; that is no error.

set -euo pipefail

# Where HyperPod mounts them, in order of preference.
readonly nvme=/opt/dlami/nvme
readonly ebs=/opt/sagemaker
readonly wait_seconds=${LIFECYCLE_DISK_WAIT_SECONDS:-120}

say() {
	printf '%s [storage] %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*"
}

is_mounted() {
	mountpoint -q "$1"
}

has_instance_store() {
	lsblk -d -n -o MODEL 2>/dev/null | grep -q 'Instance Storage'
}

# The instance store is assembled by a service that may finish after us.
wait_for_nvme() {
	local left=$wait_seconds

	has_instance_store || return 1
	while ! is_mounted "$nvme"; do
		[ "$left" -gt 0 ] || return 1
		sleep 2
		left=$((left - 2))
	done
}

choose_disk() {
	if wait_for_nvme; then
		echo "$nvme"
	elif is_mounted "$ebs"; then
		echo "$ebs"
	fi
}

# Moves directory $1 to $2 and binds it back to its place, now and at each boot.
relocate() {
	local from=$1 to=$2

	if is_mounted "$from"; then
		say "$from is on its own volume already"
		return
	fi
	mkdir -p "$from" "$to"
	cp -a "$from/." "$to/"
	if ! grep -qsF "$to $from none bind" /etc/fstab; then
		printf '%s %s none bind,nofail,x-systemd.requires-mounts-for=%s 0 0\n' \
			"$to" "$from" "$(dirname "$to")" >>/etc/fstab
	fi
	mount --bind "$to" "$from"
	say "$from now lives in $to"
}

stop_if_running() {
	if systemctl is-active --quiet "$1"; then
		systemctl stop "$1"
		echo "$1"
	fi
}

main() {
	local disk running

	disk=$(choose_disk)
	if [ -z "$disk" ]; then
		say "no instance store and no extra volume: root volume it is"
		df -h / | tail -n 1
		return
	fi
	say "container storage goes to $disk ($(df -h --output=avail "$disk" | tail -n 1 | tr -d ' ') free)"
	running="$(stop_if_running kubelet) $(stop_if_running containerd)"
	relocate /var/lib/containerd "$disk/containerd"
	relocate /var/lib/kubelet "$disk/kubelet"
	# containerd before kubelet, the reverse of how they were stopped.
	case $running in
	*containerd*) systemctl start containerd ;;
	esac
	case $running in
	*kubelet*) systemctl start kubelet ;;
	esac
	say "storage is ready"
}

main "$@"
