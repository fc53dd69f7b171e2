#!/bin/bash
# Moves container storage (containerd, kubelet) to the largest fast disk that
# HyperPod mounted: instance store first, then the extra EBS volume. The root
# volume is too small for training images, and a full one evicts every pod.
# A node without either keeps its root volume; that is no error.
#
# It runs when a node is made and again after each update of its software, which
# writes the root volume anew and keeps the extra one. Nothing is downloaded, so that
# nodes without a way to the internet come up as well.

set -euo pipefail

# Where HyperPod mounts them, in order of preference.
readonly nvme=/opt/dlami/nvme
readonly ebs=/opt/sagemaker
readonly nvme_wait=${LIFECYCLE_DISK_WAIT_SECONDS:-120}
# The extra volume is mounted beside this script, not before it: without a wait a
# node keeps the root volume for good, by chance. A node that has none loses this
# minute once. AWS's own scripts look as long.
readonly ebs_wait=${LIFECYCLE_VOLUME_WAIT_SECONDS:-60}
readonly fstab=${LIFECYCLE_FSTAB:-/etc/fstab}

say() {
	printf '%s [storage] %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*"
}

is_mounted() {
	mountpoint -q "$1"
}

has_instance_store() {
	lsblk -d -n -o MODEL 2>/dev/null | grep -q 'Instance Storage'
}

# Until $1 is mounted, for at most $2 seconds.
wait_for_mount() {
	local left=$2

	while ! is_mounted "$1"; do
		[ "$left" -gt 0 ] || return 1
		sleep 1
		left=$((left - 1))
	done
}

# The instance store is assembled by a service that may finish after us.
choose_disk() {
	if has_instance_store && wait_for_mount "$nvme" "$nvme_wait"; then
		echo "$nvme"
	elif wait_for_mount "$ebs" "$ebs_wait"; then
		echo "$ebs"
	fi
}

# Where containerd keeps its data: images of another release may say another place.
containerd_root() {
	local root

	root=$(containerd config dump 2>/dev/null |
		sed -n "s/^root *= *[\"']\(\/[^\"']*\)[\"'].*/\1/p" | head -n 1) || true
	echo "${root:-/var/lib/containerd}"
}

# Moves directory $1 to $2 and binds it back to its place, now and at each boot.
# What the disk holds already is of an earlier root volume. Its databases would be
# overwritten and its layers stay, which containerd of this release cannot read (AWS
# removes such data, too): it is dropped, and images are pulled anew.
relocate() {
	local from=$1 to=$2

	if is_mounted "$from"; then
		say "$from is on its own volume already"
		return
	fi
	if [ -e "$to" ]; then
		say "$to is of an earlier system: it is dropped"
		rm -rf --one-file-system -- "$to"
	fi
	mkdir -p "$from" "$to"
	cp -a "$from/." "$to/"
	if ! grep -qsF "$to $from none bind" "$fstab"; then
		printf '%s %s none bind,nofail,x-systemd.requires-mounts-for=%s 0 0\n' \
			"$to" "$from" "$(dirname "$to")" >>"$fstab"
	fi
	mount --bind "$to" "$from"
	say "$from now lives in $to"
}

# FSx for Lustre: pods mount it by its CSI driver, which loads the client's modules
# when it needs them and fails where they are loaded too late beside EFA. So they are
# loaded here; an image without the client has none, and that is no error.
# EFA as the transport of Lustre is not set up: file systems that take it are not
# made by us, TCP works with all of them, and AWS's set-up for it is a download that
# changes the network of every mount. Who has such a file system gives own scripts.
load_lustre() {
	local module

	for module in lnet lustre; do
		modprobe "$module" 2>/dev/null || {
			say "module $module is not loaded: no Lustre client in this image"
			return 0
		}
	done
	say "the Lustre client is loaded"
}

stop_if_running() {
	if systemctl is-active --quiet "$1"; then
		systemctl stop "$1"
		echo "$1"
	fi
}

move_storage() {
	local disk running

	disk=$(choose_disk)
	if [ -z "$disk" ]; then
		say "no instance store and no extra volume: root volume it is"
		df -h / | tail -n 1
		return
	fi
	say "container storage goes to $disk ($(df -h --output=avail "$disk" | tail -n 1 | tr -d ' ') free)"
	running="$(stop_if_running kubelet) $(stop_if_running containerd)"
	relocate "$(containerd_root)" "$disk/containerd"
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

move_storage
load_lustre
