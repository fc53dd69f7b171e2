-- Connections and migrations (core/db).

-- Every new connection. Names are found in our schema only; times are UTC.
-- name: session_setup
set search_path = instantstart, pg_temp;
set timezone = 'UTC';
set statement_timeout = '30s';
set lock_timeout = '10s';
set idle_in_transaction_session_timeout = '60s';
set client_min_messages = 'warning'

-- The roles, made when the connected role may make them. Roles belong to the
-- server, so another database's migration may be making them right now.
-- name: migrate_roles
do $$
declare
	v_role text;
	v_may boolean := (select rolsuper or rolcreaterole from pg_roles where rolname = current_user);
begin
	perform pg_advisory_xact_lock(hashtext('instantstart.roles'));
	foreach v_role in array array['instantstart_owner', 'instantstart_faces',
		'instantstart_poller'] loop
		continue when exists (select 1 from pg_roles where rolname = v_role);
		if not v_may then
			raise exception 'role % is missing and % may not make it', v_role, current_user
				using errcode = 'IS412', detail = jsonb_build_object('fix', format(
				'As an administrator of the server: create role %I login; '
				'and migrate as a member of instantstart_owner.', v_role))::text;
		end if;
		begin
			execute format('create role %I login', v_role);
		exception when duplicate_object or unique_violation then
			null;
		end;
	end loop;
	if not pg_has_role(current_user, 'instantstart_owner', 'member') then
		execute format('grant instantstart_owner to %I', current_user);
	end if;
	if not has_database_privilege('instantstart_owner', current_database(), 'create') then
		execute format('grant create on database %I to instantstart_owner', current_database());
	end if;
end $$

-- One migration at a time in a database; the lock ends with the transaction.
-- name: migrate_begin
begin;
set local statement_timeout = 0;
set local lock_timeout = 0;
select pg_advisory_xact_lock(hashtext('instantstart.migrate'));
set local role instantstart_owner;
create schema if not exists instantstart;
create table if not exists instantstart.schema_migration (
	version int primary key,
	name text not null,
	sha256 text not null,
	applied_at timestamptz not null default clock_timestamp()
)

-- name: migrate_commit
commit

-- name: migrate_rollback
rollback

-- name: migration_list
select version, name, sha256 from schema_migration order by version

-- Answers null instead of an error in an empty database.
-- name: migration_table
select to_regclass('instantstart.schema_migration')::text as relation

-- name: migration_add once
insert into schema_migration (version, name, sha256) values ($1::int, $2, $3)
