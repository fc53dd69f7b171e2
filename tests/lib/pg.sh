#!/bin/bash
# A private PostgreSQL for tests and the demo.
#
#   tests/lib/pg.sh start DIR   initdb when needed, start, wait; prints the socket
#                               folder, for "host=DIR user=postgres dbname=…"
#   tests/lib/pg.sh stop DIR    stop it; the data stay
#   tests/lib/pg.sh url DIR DB  the connection string of a database
#   tests/lib/pg.sh standby DIR OF   a streaming standby of the server in OF, started
#   tests/lib/pg.sh promote DIR      it takes writes from now on
#   tests/lib/pg.sh rejoin DIR OF    what was a primary follows the server in OF
#
# Only the user that started it gets in: the folder is closed to others, and the server
# asks the kernel who it is that connects (peer authentication), whatever role he names
# of PG_ROLES. Listens on a unix socket only. PG_FSYNC=on keeps what is committed through a
# crash of the machine; off is for tests. PG_OPTIONS adds server options, PG_INITDB
# those of initdb.
# initdb refuses root, so that root runs it as the user postgres.
set -euo pipefail

what=${1:?what to do}
self=$(realpath "${BASH_SOURCE[0]}")
dir=$(realpath -m "${2:?folder}")
bin=${PG_BIN:-$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)}
[ -x "$bin/initdb" ] || {
	echo "pg.sh: no PostgreSQL server here: make deps" >&2
	exit 1
}

as_owner()
{
	if [ "$(id -u)" -eq 0 ]; then
		runuser -u postgres -- "$@"
	else
		"$@"
	fi
}

# A folder that the user postgres cannot reach, such as one below /root, becomes a link
# to one that he can.
reachable()
{
	if [ "$(id -u)" -ne 0 ] || runuser -u postgres -- test -x "$dir" 2>/dev/null; then
		return
	fi
	local real
	real=/var/tmp/instantstart-pg-$(sha256sum <<<"$dir" | cut -c1-16)
	# Without its link it is what somebody has cleared away.
	rm -rf "$real"
	mkdir -m 700 "$real"
	rmdir "$dir"
	ln -s "$real" "$dir"
	dir=$real
}

close()
{
	chmod 700 "$dir"
	[ "$(id -u)" -ne 0 ] || chown postgres "$dir"
}

# Who may connect as whom: users of this machine to roles of the server.
write_access()
{
	local me user role
	me=$(id -un)
	{
		for user in "$me" $([ "$me" = postgres ] || [ "$me" != root ] || echo postgres); do
			for role in $roles; do
				echo "us \"$user\" $role"
			done
		done
	} >"$dir/data/pg_ident.conf"
	printf 'local %s all peer map=us\n' all replication >"$dir/data/pg_hba.conf"
}

roles=${PG_ROLES:-postgres instantstart_owner instantstart_faces instantstart_poller}

# Socket paths end at 107 bytes.
[ ${#dir} -le 80 ] || {
	echo "pg.sh: $dir is too long for a socket path" >&2
	exit 1
}

# A copy of another server's data: its own socket comes with the command line.
follow()
{
	local of
	of=$(realpath "${1:?folder of the primary}")
	if [ -f "$dir/data/PG_VERSION" ]; then
		# Until its first checkpoint a promoted server says that it has not parted.
		as_owner psql -X -q -h "$of" -U postgres -c checkpoint postgres
		as_owner "$bin/pg_rewind" -D "$dir/data" -R \
			--source-server="host=$of user=postgres dbname=postgres" \
			>>"$dir/follow.log" 2>&1 && return
		rm -rf "$dir/data" # it parted before the oldest log that is kept
	fi
	as_owner "$bin/pg_basebackup" -D "$dir/data" -R -X stream -c fast \
		-d "host=$of user=postgres" >>"$dir/follow.log" 2>&1 || {
		tail -5 "$dir/follow.log" >&2
		exit 1
	}
}

case $what in
standby | rejoin)
	mkdir -p "$dir"
	reachable
	[ "$(id -u)" -ne 0 ] || chown postgres "$dir"
	cd "$dir"
	follow "${3:-}"
	exec "$self" start "$dir"
	;;
promote)
	cd "$dir"
	as_owner "$bin/pg_ctl" -D "$dir/data" -w promote >/dev/null
	;;
start)
	mkdir -p "$dir"
	close
	reachable
	close
	cd "$dir"
	[ -f data/PG_VERSION ] ||
		as_owner "$bin/initdb" -D "$dir/data" -U postgres -A peer -E UTF8 --locale=C -N ${PG_INITDB:-} \
			>"$dir/initdb.log" 2>&1 || {
		cat "$dir/initdb.log" >&2
		exit 1
	}
	write_access
	if ! as_owner "$bin/pg_ctl" -D "$dir/data" status >/dev/null 2>&1; then
		as_owner "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -w -t 60 start -o "\
			-c listen_addresses= -c unix_socket_directories=$dir \
			-c unix_socket_permissions=0700 \
			-c fsync=${PG_FSYNC:-off} -c full_page_writes=${PG_FSYNC:-off} \
			-c max_connections=200 -c shared_buffers=64MB ${PG_OPTIONS:-}" >/dev/null || {
			tail -20 "$dir/log" >&2
			exit 1
		}
	fi
	echo "$dir"
	;;
stop)
	cd "$dir" 2>/dev/null || exit 0
	as_owner "$bin/pg_ctl" -D "$dir/data" -m "${PG_STOP:-fast}" -w stop >/dev/null 2>&1 || true
	;;
url)
	echo "host=$dir user=${PG_USER:-postgres} dbname=${3:?database}"
	;;
*)
	echo "pg.sh: $what: start, stop, url, standby, promote or rejoin" >&2
	exit 2
	;;
esac
