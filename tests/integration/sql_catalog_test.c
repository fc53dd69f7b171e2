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
