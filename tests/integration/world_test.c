/* Who we are, as the journal remembers it. */
#include <criterion/criterion.h>
#include <string.h>

#include "core/op/world.h"
#include "gen/queries.h"
#include "tests/lib/pg.h"

Test(world, asks_the_journal_without_keeping_the_answers)
{
	struct world w = {.where.region = "us-west-2"};
	struct arena a, process;
	struct db_rows rows;
	struct err e = {0};
	size_t used;

	arena_init(&a, 0);
	arena_init(&process, 0);
	w.runner.db = pg_open(&a, pg_fresh(&a));
	/* A worker asks every two seconds, for as long as nobody has credentials. */
	cr_assert(world_know(&w, &process, &e), "%s", e.detail);
	cr_expect_eq(strlen(w.where.installation), 36);
	cr_expect_eq(json_object_size(w.where.earlier), 0);
	used = process.used;
	for (int i = 0; i < 100; i++)
		cr_assert(world_know(&w, &process, &e), "%s", e.detail);
	cr_expect_eq(process.used, used, "%zu bytes in 100 questions",
		     process.used - used);
	cr_expect_null(w.where.account);
	cr_assert(DB(w.runner.db, &a, &Q_installation_put, &rows, &e, "111122223333",
		     "us-west-2", "aws", "arn:aws:iam::111122223333:user/u"));
	cr_assert(world_know(&w, &process, &e));
	cr_expect_str_eq(w.where.account, "111122223333");
	cr_expect_str_eq(w.where.partition, "aws");
	w.where.region = "eu-west-1";
	cr_expect_not(world_know(&w, &process, &e));
	cr_expect_eq(e.code, ERR_CONFIG);
	cr_expect(strstr(e.detail, "us-west-2") && strstr(e.detail, "eu-west-1"));
	arena_free(&process);
	arena_free(&a);
}
