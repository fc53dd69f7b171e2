-- What the two serving roles may do: call the transitions of their side, and
-- read. Nobody but the owner writes a table directly; hashes of secrets are read
-- by functions only.

revoke all on all functions in schema instantstart from public;
revoke all on all tables in schema instantstart from public;
alter default privileges revoke execute on functions from public;

grant usage on schema instantstart to instantstart_faces, instantstart_poller;

grant select on schema_migration, installation, operation, effect, event, lock, cluster,
	resource, catalog, read_cache, audit, principal, selection, idempotency,
	refresh, refresh_wish, node_change to instantstart_faces, instantstart_poller;
grant select (id, principal, name, role, created_by, created_at, expires_at, revoked_at,
	last_used_at) on token to instantstart_faces;

grant execute on function j_now(), j_ms(timestamptz), j_text(timestamptz),
	j_after(timestamptz, bigint), j_some(jsonb), op_json(text), op_status(operation),
	op_replay(text), op_replay_check(), cache_put(text, jsonb), cache_drop(text),
	installation_put(text, text, text, text), audit_verify(),
	audit_add(text, text, text, text, text, text, text, text, jsonb, text)
	to instantstart_faces, instantstart_poller;

grant execute on function op_submit(jsonb), op_cancel(jsonb), op_retry(jsonb),
	op_answer(jsonb), principal_put(text, text, text),
	token_create(text, text, text, text, text, bigint, text), token_revoke(text),
	token_check(text), session_create(text, text, text, bigint), session_end(text),
	session_create_by_token(text, text, bigint), session_end_all(text),
	session_check(text), login_link_create(text, text, text, bigint),
	login_link_use(text), selection_put(text, text), cluster_forget(text),
	refresh_want(text), refresh_look(text), node_json(catalog, refresh), refresh_json(text),
	refresh_whole(refresh)
	to instantstart_faces;

grant execute on function op_claim(text, bigint),
	op_intent(text, bigint, text, text, text, text, text, jsonb), op_settle(jsonb),
	audit_chain(int), journal_sweep(), cluster_put(text, jsonb),
	catalog_put(text, text, text, jsonb, jsonb, text), resource_put(text, text, jsonb),
	refresh_claim(bigint, bigint, bigint), refresh_settle(jsonb)
	to instantstart_poller;
