/*
 * secret_kinds.h - one example of every kind of secret, spelled anew for each look.
 */
#ifndef INSTANTSTART_TESTS_UNIT_SECRET_KINDS_H
#define INSTANTSTART_TESTS_UNIT_SECRET_KINDS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/rng.h"

/* a: letters and digits, A: capital ones, x: hexadecimal; {n} times. What
 * stands between the bars, or behind the only one, must not be seen. */
static const char *const secret_kinds[] = {
	"|AKIAA{16}",
	"|ASIAA{16}",
	"aws_secret_access_key = |a{40}",
	"AWS_SECRET_ACCESS_KEY=|a{40}",
	"\"SecretAccessKey\": \"|a{40}\"",
	"|IQoJb3JpZ2luX2Vja{80}",
	"|FwoGZXIvYXdza{80}",
	"|k8s-aws-v1.a{90}",
	"|hf_a{34}",
	"|api_org_a{34}",
	"|ghp_a{36}",
	"|github_pat_a{22}_a{59}",
	"|glpat-a{20}",
	"|dckr_pat_a{27}",
	"|nvapi-a{64}",
	"|npm_a{36}",
	"|pypi-AgEIa{60}",
	"|sk-ant-api03-a{40}",
	"|sk-proj-a{48}",
	"|sk-a{48}",
	"|gsk_a{52}",
	"|wandb_v1_a{40}",
	"WANDB_API_KEY=|x{40}",
	"|xoxb-111111111111-a{24}",
	"https://hooks.slack.com/services/|T00000000/B00000000/a{24}",
	"|AIzaa{35}",
	"|ya29.a{60}",
	"|hvs.a{24}",
	"|ist_a{40}",
	"|eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJa{20}.a{43}",
	"Authorization: Bearer |a{30}7",
	"authorization: bearer |a{8}.a{8}.a{8}7",
	"Authorization: Basic |dXNlcjpwYXNzd29yZA==",
	"https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature=|x{64}",
	"https://b.s3.amazonaws.com/k?X-Amz-Security-Token=|a{90}|&x=y",
	"https://b.s3.amazonaws.com/k?X-Amz-Credential=|AKIAA{16}%2F20260102",
	"AWS4-HMAC-SHA256 SignedHeaders=host, Signature=|x{63}7",
	"https://x.blob.core.windows.net/c?sv=1&sig=|a{43}7%3D",
	"postgresql://user:|a{12}|@db.internal:5432/x",
	"https://user:|a{6}/a{6}|@host/path",
	"redis://:|a{16}|@cache:6379/0",
	"git clone https://oauth2:|glpat-a{20}|@gitlab.com/x/y.git",
	"password=|a{10}!",
	"\"password\": \"|a{6} a{6}\"",
	"db_password: |Aa{9}",
	"DB_PASSWORD='|a{10}'",
	"--password |a{10}7",
	"--api-key=|a{24}7",
	"\"auth\":\"|dTpwa{30}==\"",
	"{\"name\":\"DB_PASSWORD\",\"value\":\"|a{9}\"}",
	"//registry.npmjs.org/:_authToken=|a{30}7",
	"-----BEGIN RSA PRIVATE KEY-----|\nMIIEa{60}\na{64}\na{20}==\n-----END RSA PRIVATE KEY-----",
	"-----BEGIN PRIVATE KEY-----|\nMIIEa{60}",
	"-----BEGIN OPENSSH PRIVATE KEY-----|\nb3BlbnNza{60}",
};

enum { SECRET_KINDS = sizeof(secret_kinds) / sizeof(*secret_kinds) };

static inline char letter(struct rng *rng, char of)
{
	static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789";
	static const char capital[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

	if (of == 'A')
		return capital[rng_below(rng, sizeof(capital) - 1)];
	if (of == 'x')
		return "0123456789abcdef"[rng_below(rng, 16)];
	return all[rng_below(rng, sizeof(all) - 1)];
}

/* Spells a kind out; *ret_secret is the part that must not be seen. */
static inline struct str spell(struct arena *a, struct rng *rng, const char *kind,
			       struct str *ret_secret)
{
	size_t bar[2] = {0, SIZE_MAX};
	int bars = 0;
	struct buf b;

	buf_init(&b, a, 4096);
	for (const char *p = kind; *p; p++) {
		int n = 0, used = 0;

		if (*p == '|') {
			bar[bars++] = b.len;
		} else if (p[1] == '{' && sscanf(p + 1, "{%d}%n", &n, &used) == 1 &&
			   used) {
			/* A digit and a letter at least, as a random one has. */
			for (int i = 0; i < n; i++)
				buf_addc(&b, i == 1   ? '7'
					     : i == 2 ? (*p == 'A' ? 'Q' : 'b')
						      : letter(rng, *p));
			p += used;
		} else {
			buf_addc(&b, *p);
		}
	}
	if (bar[1] > b.len)
		bar[1] = b.len;
	*ret_secret = (struct str){b.p + bar[0], bar[1] - bar[0]};
	/* Quotes and such at the end are no part of it. */
	while (ret_secret->n && strchr("\"'}!%=", ret_secret->p[ret_secret->n - 1]))
		ret_secret->n--;
	return buf_str(&b);
}

/* Whether ten characters in a row of the secret are there, each as `wide` bytes. */
static inline bool shows(struct str text, struct str secret, size_t wide)
{
	const size_t least = secret.n < 10 * wide ? secret.n : 10 * wide;

	for (size_t i = 0; i + least <= secret.n; i++)
		if (memmem(text.p, text.n, secret.p + i, least))
			return true;
	return false;
}

#endif
