-- What the pollers found of their AWS credentials: faces say it, who have none.
create table credential_state (
	one boolean primary key default true check (one),
	valid boolean not null,
	source text,                 -- where the keys come from, in words
	detail text,                 -- what is wrong
	fix text,                    -- what a person does about it
	since timestamptz not null,  -- of valid
	seen_at timestamptz not null
);

create function credential_note(p_valid boolean, p_source text, p_detail text, p_fix text)
returns void language plpgsql security definer set search_path = instantstart, pg_temp as $$
begin
	insert into credential_state as c
	values (true, p_valid, p_source, p_detail, p_fix, j_now(), j_now())
	on conflict (one) do update set valid = excluded.valid, source = excluded.source,
		detail = excluded.detail, fix = excluded.fix, seen_at = excluded.seen_at,
		since = case when c.valid = excluded.valid then c.since else excluded.since end;
end $$;

grant select on credential_state to instantstart_faces, instantstart_poller;
grant execute on function credential_note(boolean, text, text, text) to instantstart_poller;
