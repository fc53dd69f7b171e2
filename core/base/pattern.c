#define PCRE2_CODE_UNIT_WIDTH 8
#include "core/base/pattern.h"

#include <pcre2.h>
#include <time.h>

enum {
	HEAP_KIB = 4096,
	/* Between two looks at the time used. Each step may run over a line once. */
	STEPS_PER_LOOK = 64
};

struct pattern {
	pcre2_code *code;
	pcre2_match_data *data;
	pcre2_match_context *context;
};

static void free_code(void *p)
{
	pcre2_code_free(p);
}

static void free_data(void *p)
{
	pcre2_match_data_free(p);
}

static void free_context(void *p)
{
	pcre2_match_context_free(p);
}

struct pattern *pattern_compile(struct arena *a, const char *text, const char **ret_why)
{
	struct pattern *p = arena_new(a, struct pattern);
	PCRE2_UCHAR why[160];
	PCRE2_SIZE at;
	int code;

	p->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
				PCRE2_AUTO_CALLOUT, &code, &at, NULL);
	if (!p->code) {
		pcre2_get_error_message(code, why, sizeof(why));
		*ret_why = arena_strdup(a, (const char *)why);
		return NULL;
	}
	arena_defer(a, free_code, p->code);
	p->data = pcre2_match_data_create_from_pattern(p->code, NULL);
	arena_defer(a, free_data, p->data);
	p->context = pcre2_match_context_create(NULL);
	arena_defer(a, free_context, p->context);
	pcre2_set_heap_limit(p->context, HEAP_KIB);
	return p;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int on_step(pcre2_callout_block *block, void *budget)
{
	struct pattern_budget *b = budget;

	(void)block;
	if (++b->steps % STEPS_PER_LOOK != 0)
		return 0;
	return now_ns() - b->since_ns > b->left_ns ? PCRE2_ERROR_CALLOUT : 0;
}

enum pattern_result pattern_match(const struct pattern *p, struct str s,
				  struct pattern_budget *b)
{
	int found;

	if (b->left_ns <= 0)
		return PATTERN_TOO_COSTLY;
	b->since_ns = now_ns();
	pcre2_set_callout(p->context, on_step, b);
	found = pcre2_match(p->code, (PCRE2_SPTR)(s.p ? s.p : ""), s.n, 0, 0, p->data,
			    p->context);
	b->left_ns -= now_ns() - b->since_ns;
	if (found >= 0)
		return PATTERN_YES;
	return found == PCRE2_ERROR_NOMATCH ? PATTERN_NO : PATTERN_TOO_COSTLY;
}
