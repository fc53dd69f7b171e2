/* What the catalog tells of itself. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/base/str.h"
#include "tests/lib/pg.h"

Test(sql_catalog, long_names_are_told_by_their_beginning)
{
	static const char *const changes[] = {
		"insert into instantstart.resource (cluster, type, id, op_id, state, made_at) "
		"values ('c', 't', %s, 'op_1', 'made', now()) returning type",
		"insert into instantstart.catalog (kind, cluster, name, desired, created_at, updated_at) "
		"values ('storage', 'c', %s, '{}', now(), now()) returning kind",
		"delete from instantstart.resource where id = %s returning type",
	};
	/* A name of control characters takes six bytes each in JSON. */
	static const char *const names[] = {"repeat('x', 20000)",
					    "repeat(E'\\x01', 20000)", "'short'"};
	const char *url;
	struct arena a;

	arena_init(&a, 0);
	url = pg_fresh(&a);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
			const struct str head = {
				changes[i],
				(size_t)(strchr(changes[i], '%') - changes[i])};

			cr_expect_not_null(pg_sql(&a, url, "%.*s%s%s", (int)head.n,
						  head.p, names[n], head.p + head.n + 2),
					   "%s of %s", head.p, names[n]);
		}
	arena_free(&a);
}

/* A row in every table that has a column "cluster", made up from its columns' types. */
#define PUT                                                                              \
	"do $$ declare t regclass; c record; cols text; vals text; begin "               \
	"for t in select cluster_tables() loop cols := ''; vals := ''; "                 \
	"for c in select attname, format_type(atttypid, atttypmod) as type, "            \
	"atthasdef or attidentity <> '' as has from pg_attribute "                       \
	"where attrelid = t and attnum > 0 and not attisdropped loop "                   \
	"continue when c.has; cols := cols || ',' || quote_ident(c.attname); "           \
	"vals := vals || ',' || case when c.attname = 'cluster' then '''%s''' "          \
	"when c.type = 'text' then '''x''' when c.type like 'timestamp%%' then 'now()' " \
	"when c.type = 'jsonb' then '''{}''' when c.type = 'boolean' then 'true' "       \
	"else '0' end; end loop; "                                                       \
	"execute format('insert into %%s (%%s) values (%%s)', t, substr(cols, 2), "      \
	"substr(vals, 2)); end loop; end $$"
/* The tables that have rows of it. */
#define LEFT                                                                             \
	"select coalesce(string_agg(t::text, ' '), '') from cluster_tables() t "         \
	"where (xpath('/row/n/text()', query_to_xml(format("                             \
	"'select count(*) as n from %%s where cluster = ''%s''', t), false, true, ''))"  \
	")[1]::text <> '0'"

Test(sql_catalog, nothing_is_left_of_a_forgotten_cluster)
{
	const char *url, *n;
	struct arena a;

	arena_init(&a, 0);
	url = pg_fresh(&a);
	n = pg_sql(&a, url, "select count(*) from cluster_tables()");
	cr_assert(n && strtol(n, NULL, 10) >= 5, "%s", n);
	pg_sql(&a, url, "select cluster_put('gone', '{\"origin\":\"imported\"}')");
	pg_sql(&a, url, "select cluster_put('kept', '{}')");
	pg_sql(&a, url, PUT, "gone");
	pg_sql(&a, url, PUT, "kept");
	cr_expect_str_neq(pg_sql(&a, url, LEFT, "gone"), "");
	pg_sql(&a, url, "select cluster_forget('gone')");
	cr_expect_str_eq(pg_sql(&a, url, LEFT, "gone"), "");
	/* A look that was under way writes afterwards: swept, and only that. */
	pg_sql(&a, url, PUT, "gone");
	pg_sql(&a, url, "select cluster_sweep()");
	cr_expect_str_eq(pg_sql(&a, url, LEFT, "gone"), "");
	cr_expect_str_neq(pg_sql(&a, url, LEFT, "kept"), "");
	arena_free(&a);
}
