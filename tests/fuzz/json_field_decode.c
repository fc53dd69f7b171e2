/*
 * field_decode() with any JSON. What is accepted encodes to something that is
 * accepted again and encodes to the same; what is refused says why.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/json/field.h"
#include "core/json/tree.h"

struct inner {
	int64_t number;
	const char *word;
};

struct outer {
	const char *name;
	const char *secret;
	int64_t count;
	bool on;
	double share;
	struct str_list words;
	struct field_list list;
	json_t *tags;
	json_t *any;
};

static const char *const words[] = {"tcp", "udp", NULL};

static const struct field inner_fields[] = {
	FIELD(struct inner, number, .flags = FIELD_REQUIRED, .min = -5, .max = 5),
	FIELD(struct inner, word, .one_of = words, .dflt = "\"tcp\""), FIELD_END};

static const struct field fields[] = {
	FIELD(struct outer, name, .flags = FIELD_REQUIRED, .min = 1, .max = 20,
	      .pattern = "([a-z]+[0-9]?)*-?x"),
	FIELD(struct outer, secret, .flags = FIELD_SECRET),
	FIELD(struct outer, count, .max = 9, .dflt = "3"),
	FIELD(struct outer, on),
	FIELD(struct outer, share),
	FIELD(struct outer, words, .max = 3, .pattern = "[^,]*"),
	FIELD_STRUCT(struct outer, list, struct inner, inner_fields, .flags = FIELD_MANY),
	FIELD_MAP_OF(struct outer, tags),
	FIELD(struct outer, any),
	FIELD_END};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void round_trip(const struct outer *in, struct arena *a)
{
	json_t *tree = field_encode(fields, in, a);
	struct outer again;
	struct err e;

	if (!field_decode(fields, tree, a, &again, &e))
		abort();
	if (strcmp(json_text(a, tree), json_text(a, field_encode(fields, &again, a))) !=
	    0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = {0};
	struct outer out;
	struct err e;
	const json_t *tree = json_parse(&a, (struct str){(const char *)data, size}, &e);

	if (tree) {
		if (field_decode(fields, tree, &a, &out, &e))
			round_trip(&out, &a);
		else if (e.code != ERR_INVALID_INPUT || e.n_violations == 0 ||
			 !e.violations[0].detail[0])
			abort();
		field_mask(fields, tree, &a);
	}
	arena_free(&a);
	return 0;
}
