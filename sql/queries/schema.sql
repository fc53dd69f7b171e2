-- Connections and migrations (core/db).

-- Every new connection states all that we rely on: what the server, the database or
-- the role has as a default is not ours to know. Names are found in our schema only;
-- transactions see what others have committed and may write; what is acknowledged is
-- on disk; times are UTC, texts are UTF-8 and written one way. The last statement is
-- for what only newer servers know, and for what a setting above ours would break.
-- name: session_setup
set search_path = instantstart, pg_temp;
set default_transaction_isolation = 'read committed';
set default_transaction_read_only = off;
set default_transaction_deferrable = off;
set synchronous_commit = on;
set exit_on_error = off;
set row_security = on;
set client_encoding = 'UTF8';
set timezone = 'UTC';
set datestyle = 'ISO, MDY';
set intervalstyle = 'postgres';
set extra_float_digits = 1;
set bytea_output = 'hex';
set standard_conforming_strings = on;
set backslash_quote = 'safe_encoding';
set array_nulls = on;
set transform_null_equals = off;
set quote_all_identifiers = off;
set xmloption = 'content';
set lc_numeric = 'C';
set lc_monetary = 'C';
set lc_time = 'C';
set default_tablespace = '';
set temp_tablespaces = '';
set default_table_access_method = 'heap';
set check_function_bodies = on;
set plan_cache_mode = 'auto';
set jit = off;
set statement_timeout = '30s';
set lock_timeout = '10s';
set idle_in_transaction_session_timeout = '60s';
set client_min_messages = 'warning';
set instantstart.tell = 'after';
do $$
begin
	perform set_config(name, '0', false) from pg_settings
	where name in ('idle_session_timeout', 'transaction_timeout');
	perform set_config('plpgsql.extra_errors', 'none', false),
		set_config('plpgsql.extra_warnings', 'none', false);
	if current_setting('session_replication_role') <> 'origin' then
		raise exception 'session_replication_role is %: triggers would not run',
			current_setting('session_replication_role');
	end if;
end $$

-- What the statement before it has kept for others, now that it is committed. $1: and
-- that what was kept on another connection went with it.
-- name: tell_now once
select tell_now($1::boolean)

-- A write in the smallest way, to the end of its commit.
-- name: ready_write again
select ready_write()

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
