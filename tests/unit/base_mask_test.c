/*
 * Every kind of secret, in every disguise and surrounding: nothing of it is left; and
 * what only looks long or random stays.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/mask.h"
#include "core/base/rng.h"
#include "tests/unit/secret_kinds.h"

enum { ROUNDS = 12 };

static const char *const innocent[] = {
	"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"arn:aws:sagemaker:us-west-2:111122223333:cluster/abcdefghijkl",
	"arn:aws:iam::111122223333:role/hyperpod-AKIA-nodes",
	"arn:aws-cn:s3:::my-bucket/AKIAlike/key",
	"i-0123456789abcdef0 eni-0123456789abcdef0 subnet-0123456789abcdef0",
	"6f1c9a1e-3b1d-4c57-9a52-0f6d2f1c9a1e",
	"111122223333.dkr.ecr.us-west-2.amazonaws.com/hyperpod/health:1.0.1249.0_1.0.359.0",
	"docker://nvcr.io/nvidia/pytorch:24.01@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e",
	"https://host.example:8080/path@v1/x?limit=20&cursor=eyJhIjoxfQ",
	"https://ABCDEF0123456789ABCDEF0123456789.gr7.us-west-2.eks.amazonaws.com",
	"nextToken=eyJOZXh0VG9rZW4iOiBudWxsLCAiYm90b190cnVuY2F0ZV9hbW91bnQiOiAxfQ==",
	"step=100 loss=2.31 tokens=4096 max_tokens=2048 tokens/s: 12345",
	"tokenizer: gpt2 pad_token: </s> eos_token='<|im_end|>' token: 1234567890123456",
	"password: required, secret not found, token: expired",
	"FATAL: password authentication failed for user \"app\"",
	"secret \"hyperpod-tls-0123456789\" not found; secretName: my-secret-2",
	"secret: hyperpod-inference-operator-tls-1",
	"password=${DB_PASSWORD} token=$(cat /run/token) api_key=<your key> password=***",
	"password=(secret)",
	"https://user:(secret)@host/",
	"basic authentication is off; bearer tokens are taken; Basic support",
	"torch.distributed.elastic.multiprocessing.errors.ChildFailedError",
	"/opt/ml/checkpoints/global_step_1000/mp_rank_00_model_states.pt",
	"NCCL INFO Channel 00/16 : 0[1b0] -> 1[1c0] via P2P/IPC/read",
	"hf_model_name=meta-llama/Llama-3.1-8B sk-learn sk-image hf_transfer",
	"-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQ\n-----END CERTIFICATE-----",
	"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSURkekNDQWwrZ0F3SUJBZ0lFQWdBQXVUQU5CZ2txaGtpRzl3MA==",
	"AIDACKCEVSQ6C2EXAMPLE AROADBQP57FF2AEXAMPLE AGPAI23HZ27SI6FQMGNQ2",
	"{\"secretKeyRef\":{\"name\":\"db\",\"key\":\"password\"}}",
	"{\"name\":\"HF_TOKEN\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"hub\"}}}",
	"op_01hxyz0123456789abcdefghjk cl_01hxyz0123456789abcdefghjk",
	"ghost_protocol ghp sk-",
	"Xid 79: GPU has fallen off the bus. pid='<unknown>', name=<unknown>",
	"a sum of 100 % is 100%25 or \\u00e9t\\u00e9",
};

/* --- disguises --------------------------------------------------------------------- */

static void as_it_is(struct buf *b, struct str s)
{
	buf_add_str(b, s);
}

static void json_escaped(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\n')
			buf_adds(b, "\\n");
		else if (strchr("\"\\/", s.p[i]))
			buf_printf(b, "\\%c", s.p[i]);
		else
			buf_addc(b, s.p[i]);
	}
}

static void all_escaped(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		buf_printf(b, "\\u%04x", (unsigned char)s.p[i]);
}

static void twice_escaped(struct buf *b, struct str s)
{
	struct buf once;

	buf_init(&once, b->arena, 65536);
	json_escaped(&once, s);
	json_escaped(b, buf_str(&once));
}

static void in_base64(struct buf *b, struct str s)
{
	buf_adds(b, base64_encode(b->arena, s.p, s.n));
}

static void in_base64_of_json(struct buf *b, struct str s)
{
	struct buf json;

	buf_init(&json, b->arena, 65536);
	buf_adds(&json, "{\"it\":\"");
	json_escaped(&json, s);
	buf_adds(&json, "\"}");
	buf_adds(b, base64url_encode(b->arena, json.p, json.len));
}

static void percent(struct buf *b, struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (strchr("abcdefghijklmnopqrstuvwxyz0123456789", s.p[i]))
			buf_addc(b, s.p[i]);
		else
			buf_printf(b, "%%%02X", (unsigned char)s.p[i]);
}

static void coloured(struct buf *b, struct str s)
{
	buf_adds(b, "\x1b[31m");
	buf_add(b, s.p, s.n / 2);
	buf_adds(b, "\x1b[0m");
	buf_add(b, s.p + s.n / 2, s.n - s.n / 2);
}

static const struct {
	const char *name;
	void (*put)(struct buf *b, struct str s);
} disguises[] = {
	{"as it is", as_it_is},       {"JSON escapes", json_escaped},
	{"all escaped", all_escaped}, {"escaped twice", twice_escaped},
	{"base64", in_base64},        {"base64 of JSON", in_base64_of_json},
	{"percent", percent},         {"colours", coloured},
};

static const char *const around[][2] = {
	{"", ""},
	{"2026-01-02 INFO it is ", " and goes on"},
	{"{\"msg\":\"", "\",\"n\":1}"},
	{"x=(", ")"},
	{"[", "]\n"},
};

static struct str put(struct arena *a, size_t disguise, const char *before, struct str s,
		      const char *behind)
{
	struct buf b;

	buf_init(&b, a, 65536);
	buf_adds(&b, before);
	disguises[disguise].put(&b, s);
	buf_adds(&b, behind);
	return buf_str(&b);
}

static void check(struct arena *a, const char *kind, struct str whole, struct str secret,
		  size_t d, const char *const *around_it)
{
	const struct str text = put(a, d, around_it[0], whole, around_it[1]);
	const struct str out = mask_text(a, text, NULL, false);
	const bool coded = str_has_prefix(str_of(disguises[d].name), STR("base64"));
	/* Three letters of base64 are of both what is before and the secret. */
	const struct str hidden = put(a, d, "", coded ? whole : secret, "");
	const char *shown =
		arena_printf(a, "%s, %s: %s", kind, disguises[d].name, str_dup(a, out));

	cr_expect(memmem(out.p, out.n, MASKED, 8), "%s", shown);
	cr_expect_not(shows(out, hidden, (hidden.n + secret.n - 1) / secret.n), "%s",
		      shown);
	/* Masked is masked: a second look finds nothing more. */
	cr_expect(mask_text(a, out, NULL, false).p == out.p, "%s", shown);
	/* And what stood around it is still there. */
	cr_expect(str_has_prefix(out, str_of(around_it[0])) || strchr(around_it[0], '='),
		  "%s", shown);
}

Test(mask, every_kind_in_every_disguise)
{
	struct rng_seeded seeded;
	struct arena a;

	rng_seeded_init(&seeded, 16);
	arena_init(&a, 0);
	for (size_t k = 0; k < SECRET_KINDS; k++)
		for (size_t d = 0; d < sizeof(disguises) / sizeof(*disguises); d++)
			for (size_t w = 0; w < sizeof(around) / sizeof(*around); w++) {
				struct str whole, secret;

				arena_reset(&a);
				whole = spell(&a, &seeded.rng, secret_kinds[k], &secret);
				check(&a, secret_kinds[k], whole, secret, d, around[w]);
			}
	arena_free(&a);
}

/* A text that was cut in the midst of a secret shows no more of it than a beginning. */
Test(mask, every_kind_cut_anywhere)
{
	struct rng_seeded seeded;
	struct arena a;

	rng_seeded_init(&seeded, 18);
	arena_init(&a, 0);
	for (size_t k = 0; k < SECRET_KINDS; k++) {
		struct str whole, secret;

		arena_reset(&a);
		whole = spell(&a, &seeded.rng, secret_kinds[k], &secret);
		for (size_t n = 1; n < secret.n; n++) {
			const struct str piece = {whole.p,
						  (size_t)(secret.p - whole.p) + n};
			const struct str out = mask_text(&a, piece, NULL, true);

			cr_expect_not(out.n == piece.n &&
					      memcmp(out.p, piece.p, piece.n) == 0 &&
					      n > 16,
				      "%s: %.*s", secret_kinds[k], (int)out.n, out.p);
		}
	}
	arena_free(&a);
}

Test(mask, innocent_text_stays)
{
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; i < sizeof(innocent) / sizeof(*innocent); i++) {
		const struct str s = str_of(innocent[i]);
		const struct str out = mask_text(&a, s, NULL, false);

		cr_expect(out.p == s.p, "%s became %.*s", innocent[i], (int)out.n, out.p);
	}
	arena_free(&a);
}

Test(mask, values_that_are_known)
{
	static const char value[] = "plain words that open a door";
	struct mask_known k = {0};
	struct arena a;
	struct str out;
	const char *both;

	arena_init(&a, 0);
	mask_know(&k, secret_of(value));
	mask_know(&k, secret_of("short"));
	mask_know(&k, secret_of(NULL));
	both = arena_printf(&a, "it said %s, a short one, and %s", value,
			    base64_encode(&a, value, sizeof(value) - 1));
	out = mask_text(&a, str_of(both), &k, false);
	cr_expect_str_eq(str_dup(&a, out), "it said (secret), a short one, and (secret)");
	cr_expect_null(mask_z(&a, NULL, &k));
	arena_free(&a);
}

/* A key of several lines, with and without its beginning; then ordinary lines. */
Test(mask, a_key_over_lines)
{
	static const char *const lines[] = {
		"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
		"2yqYQ3vX5c3cT6J9m9Xk5c3cT6J9m9Xk5c3cT6J9m9Xk5c3cT6J9m9Xk5c3cT6J9",
		"-----END PRIVATE KEY-----"};
	static const char log[] =
		"INFO: 2yqYQ3vX5c3cT6J9m9Xk5c3cT6J9m9Xk5c3cT6J9m9Xk5c3cT6J9m9Xk5c3c";
	struct mask_lines m;
	struct arena a;

	arena_init(&a, 0);
	mask_lines_init(&m, &a);
	for (int begun = 0; begun < 2; begun++) {
		mask_lines_restart(&m);
		if (begun)
			cr_expect(
				str_is(mask_line(&m, STR("x -----BEGIN PRIVATE KEY-----"),
						 false),
				       "x (secret)"));
		cr_expect(str_is(mask_line(&m, str_of(lines[0]), false), MASKED));
		if (begun)
			cr_expect(str_is(mask_line(&m, str_of(log), false), MASKED));
		cr_expect(str_is(mask_line(&m, str_of(lines[1]), false), MASKED));
		cr_expect(begun == 0 ||
			  str_is(mask_line(&m, str_of(lines[2]), false), MASKED));
		cr_expect(str_is(mask_line(&m, STR("step 1"), false), "step 1"));
		cr_expect(str_is(mask_line(&m, str_of(lines[0]), false), lines[0]));
	}
	/* Said in a sentence it hides nothing more. */
	mask_line(&m, STR("expected -----BEGIN PRIVATE KEY-----"), false);
	cr_expect(
		str_is(mask_line(&m, STR("step 2 loss=1.5"), false), "step 2 loss=1.5"));
	/* Cut in the midst of a token: what is there of it is hidden, too. */
	cr_expect(str_is(mask_line(&m, STR("token hf_abc"), true), "token (secret)"));
	cr_expect(str_is(mask_line(&m, STR("token hf_abc"), false), "token hf_abc"));
	arena_free(&a);
}

/* Any bytes at all: no crash, and no output that is longer than it may be. */
Test(mask, any_bytes)
{
	static const char hard[] = "\\u%-:=/@\"' \n\x1b[{}hf_eyJ.BEGIN-----AKIA";
	struct rng_seeded seeded;
	struct arena a;

	rng_seeded_init(&seeded, 17);
	arena_init(&a, 0);
	for (int round = 0; round < ROUNDS * 400; round++) {
		const size_t n = rng_below(&seeded.rng, 300);
		char *p;

		arena_reset(&a);
		p = arena_alloc(&a, n + 1);
		for (size_t i = 0; i < n; i++)
			p[i] = rng_below(&seeded.rng, 3)
				       ? hard[rng_below(&seeded.rng, sizeof(hard) - 1)]
				       : (char)rng_below(&seeded.rng, 256);
		cr_expect_leq(mask_text(&a, (struct str){p, n}, NULL, round % 2).n,
			      n + 64 * sizeof(MASKED));
	}
	arena_free(&a);
}

/* --- whoever writes the text does not choose what looking at it costs ----------------
 */

static const char *const begins[] = {
	"://",
	"abc=",
	"token=",
	"password=",
	"secret:=",
	"basic=",
	"bearer%",
	"Bearer ",
	"--a",
	"--token ",
	"eyJ-",
	"AIza-",
	"SG.",
	"sk-ant-",
	"http://a:",
	"b/",
	"@",
	"\"",
	"<",
	"-----BEGIN ",
	"-----END ",
	"PRIVATE KEY",
	"name",
	"\"value\":",
	"QUtJQQ==",
	"YWJj/",
	"\\u0041",
	"%41",
	"\x1b[",
	"x.",
	"eyJhbGciOiJIUzI1.",
	"Authorization: ",
};

static int64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int64_t cost_us(const char *piece, size_t n)
{
	struct arena a = {.cap = 0};
	char *text = arena_alloc(&a, n);
	const size_t len = strlen(piece);
	int64_t began;

	for (size_t i = 0; i < n; i++)
		text[i] = piece[i % len];
	began = cpu_us();
	mask_text(&a, (struct str){text, n}, NULL, false);
	arena_free(&a);
	return cpu_us() - began;
}

/* Eight times the text is about eight times the work: 64 where each place of it that may
 * begin a secret has all that follows looked at. */
Test(mask, cost_grows_with_the_text)
{
	enum { SHORT = 8 * 1024, LONG = 8 * SHORT, N = sizeof(begins) / sizeof(*begins) };
	struct rng_seeded seeded;
	struct rng *rng = &seeded.rng;

	rng_seeded_init(&seeded, 7);
	for (size_t i = 0; i < 4 * (size_t)N; i++) {
		char piece[64];
		int64_t small, large;

		snprintf(piece, sizeof(piece), "%s%s", begins[i % N],
			 i < N ? "" : begins[rng_below(rng, N)]);
		small = cost_us(piece, SHORT);
		large = cost_us(piece, LONG);
		cr_expect(large < 24 * small + 20000,
			  "\"%s\": %lld us for %d bytes, %lld us for %d", piece,
			  (long long)small, SHORT, (long long)large, LONG);
	}
}
