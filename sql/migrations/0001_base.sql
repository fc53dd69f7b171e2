-- The clock, small helpers, and the facts of this installation.
--
-- Everything lives in the schema "instantstart". Functions that programs call
-- are SECURITY DEFINER with a fixed search_path; the others are called by them.
-- Statements stand in plpgsql, which keeps their plans; a function in SQL that is
-- not inlined is planned at every call. Only expressions are in SQL.

-- The journal's clock. A session that sets instantstart.now (a timestamp, or
-- milliseconds since the epoch) lives at that time: tests drive it by hand.
create function j_now() returns timestamptz language plpgsql stable as $$
declare
	v_set text := current_setting('instantstart.now', true);
begin
	if v_set is null or v_set = '' then
		return clock_timestamp();
	elsif v_set ~ '^[0-9]+$' then
		return 'epoch'::timestamptz + v_set::bigint * interval '1 millisecond';
	end if;
	return v_set::timestamptz;
end $$;

-- Milliseconds since the epoch; null for null.
create function j_ms(p timestamptz) returns bigint language sql stable as $$
	select floor(extract(epoch from p) * 1000)::bigint
$$;

-- RFC 3339, UTC, milliseconds.
create function j_text(p timestamptz) returns text language sql stable as $$
	select to_char(p at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

create function j_after(p timestamptz, p_ms bigint) returns timestamptz
language sql stable as $$
	select p + p_ms * interval '1 millisecond'
$$;

create function j_sha256(p text) returns text language sql stable as $$
	select encode(sha256(convert_to(p, 'UTF8')), 'hex')
$$;

-- A JSON null counts as absent.
create function j_some(p jsonb) returns jsonb language sql immutable as $$
	select nullif(p, 'null'::jsonb)
$$;

-- Refuses with one of our SQLSTATEs: IS001 fenced, IS400, IS404, IS409 another
-- operation is in the way, IS410 wrong state, IS412, IS422 key reused. p_detail:
-- {"field","seen","expected","fix","cause":{"source","code","message"}}.
create function j_refuse(p_code text, p_message text, p_detail jsonb default '{}')
returns void language plpgsql as $$
begin
	raise exception using errcode = p_code, message = p_message, detail = p_detail::text;
end $$;

-- One row: where this installation works. Account and region are fixed once
-- known, so that a database is never driven against another account.
create table installation (
	one boolean primary key default true check (one),
	account text not null,       -- 12 digits
	region text not null,
	partition text not null,     -- aws, aws-cn, aws-us-gov
	caller_arn text not null,    -- the role we run as, as last seen
	created_at timestamptz not null,
	seen_at timestamptz not null -- when a program last confirmed it
);

create function installation_put(p_account text, p_region text, p_partition text,
	p_caller_arn text) returns void
language plpgsql security definer set search_path = instantstart, pg_temp as $$
declare
	i installation;
begin
	insert into installation values
		(true, p_account, p_region, p_partition, p_caller_arn, j_now(), j_now())
	on conflict (one) do nothing;
	select * into i from installation;
	if i.account <> p_account or i.region <> p_region then
		perform j_refuse('IS410', format(
			'This database belongs to account %s, region %s.', i.account, i.region),
			jsonb_build_object('seen', p_account || ' ' || p_region,
				'expected', i.account || ' ' || i.region,
				'fix', 'Use a database of its own for each account and region.'));
	end if;
	-- Several programs confirm at start; the row is written once a minute at most.
	if i.caller_arn <> p_caller_arn or i.seen_at < j_now() - interval '1 minute' then
		update installation set caller_arn = p_caller_arn, seen_at = j_now();
	end if;
end $$;
