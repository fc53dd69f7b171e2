-- Liveness is what a program says of itself, not that nothing is due: each worker
-- promises when it will be heard of again, at the latest. One that is at work on a long
-- call promises later, and who has promised nothing is not there.

create table heartbeat (
	worker text primary key,
	program text not null,
	at timestamptz not null,
	until timestamptz not null
);

create function heartbeat_put(p_program text, p_worker text, p_promise_ms bigint)
returns void language plpgsql security definer
set search_path = instantstart, pg_temp as $$
declare
	v_now timestamptz := j_now();
begin
	-- Nobody waits for the disk: what a crash takes is said again.
	perform set_config('synchronous_commit', 'off', true);
	insert into heartbeat as h (worker, program, at, until)
	values (p_worker, p_program, v_now, j_after(v_now, p_promise_ms))
	on conflict (worker) do update set program = excluded.program, at = excluded.at,
		until = excluded.until;
	delete from heartbeat where until < v_now - interval '7 days';
end $$;

-- A worker that stops in order says so.
create function heartbeat_end(p_worker text) returns void
language sql security definer set search_path = instantstart, pg_temp as $$
	update heartbeat set until = at where worker = p_worker
$$;

-- alive: how many workers of the program are as good as their word; last: when any of
-- them was heard of, null: none ever. A promise far beyond any is of a clock that was
-- set back since.
create function heartbeat_look(p_program text, out alive bigint, out last text)
language sql stable security definer set search_path = instantstart, pg_temp as $$
	select count(*) filter (where until > j_now() and until < j_now() + interval '2 hours'),
		j_text(max(at))
	from heartbeat where program = p_program
$$;

grant select on heartbeat to instantstart_faces, instantstart_poller;
grant execute on function heartbeat_look(text) to instantstart_faces, instantstart_poller;
grant execute on function heartbeat_put(text, text, bigint), heartbeat_end(text)
	to instantstart_poller;
