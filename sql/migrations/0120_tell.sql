-- What is told (NOTIFY) is told after the commit, in a transaction of its own that waits
-- for no disk. PostgreSQL holds one lock per server from a notification to the end of its
-- commit: transitions that told within theirs could not share a sync.
--
-- A session that says so (instantstart.tell = after) keeps what is to be told, and its
-- program calls tell_now() when the commit is known. Every other session, psql for one,
-- tells within the transaction. A rollback takes back what was kept.
--
-- Channels: instantstart, an operation whose version has grown, or "lost": somebody may
-- have ended between his commit and his news, so look at everything; instantstart_due,
-- something is due or wanted now; instantstart_catalog, a changed row of the catalog.

create function tell(p_channel text, p_payload text) returns void language plpgsql as $$
begin
	if current_setting('instantstart.tell', true) is distinct from 'after' then
		perform pg_notify(p_channel, p_payload);
	else
		perform set_config('instantstart.told', concat(current_setting('instantstart.told', true),
			p_channel, ' ', p_payload, E'\n'), false);
	end if;
end $$;

-- p_lost: what was kept on a connection before this one went with it.
create function tell_now(p_lost boolean default false) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_told text := current_setting('instantstart.told', true);
	v_line text;
begin
	if p_lost then
		perform pg_notify('instantstart', 'lost');
	elsif coalesce(v_told, '') = '' then
		return;
	end if;
	-- Nobody waits for the disk: nothing is stored.
	perform set_config('synchronous_commit', 'off', true);
	foreach v_line in array string_to_array(rtrim(coalesce(v_told, ''), E'\n'), E'\n') loop
		perform pg_notify(split_part(v_line, ' ', 1), substr(v_line, strpos(v_line, ' ') + 1));
	end loop;
	perform set_config('instantstart.told', '', false);
end $$;

create or replace function op_shown() returns trigger language plpgsql as $$
begin
	if tg_op = 'INSERT' or (new.state, new.step, new.phase, new.phases, new.attempt,
		new.queued, new.cancel_requested, new.blind_since)
		is distinct from (old.state, old.step, old.phase, old.phases, old.attempt,
		old.queued, old.cancel_requested, old.blind_since)
		or (new.waiting_for, new.question, new.result, new.error, new.children)
		is distinct from (old.waiting_for, old.question, old.result, old.error, old.children)
		or (old.claim_gen = 0 and new.claim_gen = 1) then
		new.version := case when tg_op = 'INSERT' then 1 else old.version + 1 end;
		new.updated_at := j_now();
		new.doc := op_render(new);
		perform tell('instantstart', new.id);
	end if;
	if new.state = 'live' and new.claimed_by is null and new.due_at <= j_now() then
		perform tell('instantstart_due', 'operation');
	end if;
	return new;
end $$;

create or replace function catalog_told() returns trigger language plpgsql as $$
declare
	r record;
	v jsonb;
begin
	if tg_table_name = 'catalog' then
		-- Of thousands of nodes the refresh tells itself, a page at a time.
		if tg_op = 'DELETE' then
			if old.kind = 'node' then
				return null;
			end if;
		elsif new.kind = 'node' then
			return null;
		end if;
	end if;
	if tg_op = 'DELETE' then
		r := old;
	else
		r := new;
	end if;
	v := to_jsonb(r);
	if tg_op = 'UPDATE' and v - 'updated_at' - 'observed_at'
		= to_jsonb(old) - 'updated_at' - 'observed_at' then
		return null;
	end if;
	-- A notification holds 8000 bytes; a longer name must not undo what it tells of.
	perform instantstart.tell('instantstart_catalog', json_build_object('t', 'catalog',
		'what', case when tg_table_name = 'catalog' then
			case v->>'kind' when 'instance_group' then 'group' else v->>'kind' end
			else tg_table_name::text end,
		'cluster', left(coalesce(v->>'cluster', v->>'name'), 500),
		'name', left(coalesce(v->>'name', v->>'id'), 500))::text);
	return null;
end $$;

create or replace function node_tell(p_cluster text, p_n bigint, p_one text) returns void
language plpgsql as $$
begin
	if p_n > 0 then
		perform tell('instantstart_catalog', json_build_object('t', 'catalog', 'what',
			'node', 'cluster', p_cluster, 'name',
			case when p_n = 1 then coalesce(p_one, '*') else '*' end)::text);
	end if;
end $$;

create or replace function refresh_want(p_cluster text) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	insert into refresh_wish (cluster) select p_cluster
	where exists (select 1 from cluster where name = p_cluster) on conflict do nothing;
	-- Who holds the row wishes the same at this moment: nobody waits for it.
	perform 1 from refresh_wish where cluster = p_cluster for update skip locked;
	if found then
		update refresh_wish set wanted_at = j_now() where cluster = p_cluster;
		perform tell('instantstart_due', 'refresh');
	end if;
end $$;

-- A worker that was not heard of as it had promised may have ended between a commit and
-- its news: said once of each. How many there are.
create function heartbeat_lost() returns bigint
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	v_n bigint;
begin
	if not exists (select 1 from heartbeat where until < j_now() and until > at) then
		return 0;
	end if;
	update heartbeat set until = at where until < j_now() and until > at;
	get diagnostics v_n = row_count;
	if v_n > 0 then
		perform tell('instantstart', 'lost');
	end if;
	return v_n;
end $$;

grant execute on function tell_now(boolean) to instantstart_faces, instantstart_poller;
grant execute on function heartbeat_lost() to instantstart_poller;
