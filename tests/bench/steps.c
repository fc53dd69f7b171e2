/*
 * steps - how many steps that do nothing the runner carries out in a second.
 *
 *   steps DATABASE_URL submit N      accepts N operations that never end
 *   steps DATABASE_URL run WORKERS SECONDS
 *
 * Everything is the product's but for the cloud, which answers at once: claim,
 * plan, intent committed, call, absorb, settlement committed, then the other of
 * two steps. Prints {"steps":…,"per_second":…}.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/json/tree.h"
#include "core/op/journal.h"
#include "core/op/runner.h"

/* --- the kind ----------------------------------------------------------------- */

static void plan_role(struct step_ctx *c, struct exchange *x)
{
	exchange_aws(x, AWS_IAM_CreateRole,
		     json_packf(c->arena, "{s:s,s:s,s:O}", "RoleName", c->target,
				"AssumeRolePolicyDocument", "{}", "Tags", step_tags(c)));
	x->what = "Nothing";
}

static void to_other(struct step_ctx *c, const struct answer *a)
{
	if (a->ok)
		step_goto(c, c->step->arg);
}

static const struct step bench_steps[] = {{.name = "ping",
					   .phase = "bench",
					   .title = "One way",
					   .effect = EFFECT_NAMED,
					   .plan = plan_role,
					   .absorb = to_other,
					   .arg = "pong"},
					  {.name = "pong",
					   .phase = "bench",
					   .title = "And back",
					   .effect = EFFECT_NAMED,
					   .plan = plan_role,
					   .absorb = to_other,
					   .arg = "ping"},
					  {0}};

static const struct kind bench_kind = {
	.name = "bench", .title = "Do nothing for ever", .steps = bench_steps};
static const struct kind *const bench_kinds[] = {&bench_kind, NULL};

static void answer_at_once(struct runner *r, const struct exchange *x, const char *token,
			   struct arena *a, struct answer *ret)
{
	(void)r;
	(void)token;
	*ret = (struct answer){
		.via = x->via,
		.call = exchange_name(x, a),
		.ok = true,
		.status = 200,
		.request_id = "bench",
		.out = json_packf(a, "{s:{s:s}}", "Role", "RoleId", "AROAEXAMPLE"),
	};
}

/* --- submit ------------------------------------------------------------------- */

static bool submit(struct db *db, struct arena *a, struct err *e)
{
	char id[sizeof("op_") + ID_RANDOM];
	struct submission s = {.kind = &bench_kind,
			       .principal = "bench",
			       .face = "rest",
			       .capability = "bench"};
	struct submitted got;

	id_make(rng_system(), clock_system()->wall_ms(clock_system()), "op_", id,
		sizeof(id));
	s.id = s.idem_key = id;
	s.target = id;
	s.input = json_packf(a, "{s:s}", "cluster", id);
	s.digest = json_digest(a, s.input);
	return journal_submit(db, a, &s, &got, e);
}

/* --- run ------------------------------------------------------------------------ */

static int fail(const char *what, const struct err *e)
{
	fprintf(stderr, "steps: %s: %s %s\n", what, e->detail, e->cause[0].message);
	return 1;
}

static int work(const char *url, int64_t until_ms, _Atomic long *steps)
{
	static struct config cfg;
	const struct where where = {.account = "111122223333",
				    .installation = "here",
				    .region = "us-west-2",
				    .partition = "aws"};
	struct clock *clock = clock_system();
	const struct log log = {.fd = open("/dev/null", O_WRONLY | O_CLOEXEC),
				.least = LOG_INFO,
				.clock = clock,
				.program = "steps"};
	struct runner r = {.cfg = &cfg,
			   .where = &where,
			   .clock = clock,
			   .rng = rng_system(),
			   .log = &log,
			   .kinds = bench_kinds,
			   .exchange = answer_at_once};
	struct arena process, step;
	struct err e = {0};
	bool worked;

	arena_init(&process, 0);
	arena_init(&step, 0);
	if (!config_load(&cfg, &process, config_from_env, NULL, &e))
		return fail("configuration", &e);
	r.worker = arena_printf(&process, "bench/%d", (int)getpid());
	r.db = db_new(&process, secret_of(url), "bench-steps", clock, rng_system());
	while (clock->mono_ms(clock) < until_ms) {
		if (!runner_tick(&r, &step, &worked, &e))
			return fail("tick", &e);
		if (worked)
			++*steps;
		arena_reset(&step);
	}
	arena_free(&step);
	arena_free(&process);
	return 0;
}

static int run(const char *url, int workers, double seconds)
{
	struct clock *clock = clock_system();
	const int64_t from = clock->mono_ms(clock);
	const int64_t until = from + (int64_t)(seconds * 1000);
	_Atomic long *steps = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int failed = 0, status;

	if (steps == MAP_FAILED)
		return 1;
	for (int i = 0; i < workers; i++)
		if (fork() == 0)
			_exit(work(url, until, steps));
	while (wait(&status) > 0)
		failed |= status;
	printf("{\"steps\":%ld,\"per_second\":%.1f}\n", *steps,
	       (double)*steps * 1000 / (double)(clock->mono_ms(clock) - from));
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	int64_t n;
	struct arena a;
	struct err e = {0};
	struct db *db;

	json_init();
	if (argc == 5 && strcmp(argv[2], "run") == 0 && str_to_i64(str_of(argv[3]), &n))
		return run(argv[1], (int)n, strtod(argv[4], NULL));
	if (argc != 4 || strcmp(argv[2], "submit") != 0 ||
	    !str_to_i64(str_of(argv[3]), &n)) {
		fprintf(stderr, "usage: steps DATABASE_URL submit N | run WORKERS "
				"SECONDS\n");
		return 2;
	}
	arena_init(&a, 0);
	db = db_new(&a, secret_of(argv[1]), "bench-steps", clock_system(), rng_system());
	for (int64_t i = 0; i < n; i++)
		if (!submit(db, &a, &e))
			return fail("submit", &e);
	arena_free(&a);
	return 0;
}
