/*
 * Members that are places in S3, of every capability: what is plain is put into one
 * form, what could mean two things is refused. The rows come from the table of
 * capabilities, so that a new member is here by being there.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "core/domain/capability.h"
#include "core/domain/step/path.h"

enum { TEXTS = 20000, TEXT_MAX = 40, PADDED = TEXT_MAX + 4 };

static bool is_place(const struct field *f)
{
	static const char *const words[] = {"prefix", "_uri", "path", "folder",
					    "lifecycle_on_create"};

	if (f->type != FIELD_STR && f->type != FIELD_STRS)
		return false;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(f->name, words[i]))
			return true;
	return false;
}

static int places_of(const char *cap, const struct field *fields)
{
	int n = 0;

	for (const struct field *f = fields; f && f->name; f++) {
		if (f->fields)
			n += places_of(cap, f->fields);
		if (!is_place(f))
			continue;
		cr_expect(f->normal, "%s takes %s as it comes", cap, f->name);
		n++;
	}
	return n;
}

Test(domain_paths, every_place_of_every_capability_has_one_form)
{
	int n = 0;

	for (const struct capability *const *c = capabilities; *c; c++)
		n += places_of((*c)->name, (*c)->in);
	cr_expect_geq(n, 10, "%d places", n);
}

/* --- any text ---------------------------------------------------------------------- */

static uint64_t dice = UINT64_C(0x2545f4914f6cdd1d);

static size_t roll(size_t n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (size_t)(dice % n);
}

static void any_text(char *ret)
{
	static const char from[] = "//..ab";
	const size_t n = roll(12);

	for (size_t i = 0; i < n; i++)
		ret[i] = from[roll(sizeof(from) - 1)];
	ret[n] = '\0';
}

/* Judged by its parts, one by one: not by how the product does it. */
static bool means_two(const char *z)
{
	char text[PADDED];
	const size_t n = strlen(z);

	if (strstr(z, "//"))
		return true;
	snprintf(text, sizeof(text), "/%s%s", z, n && z[n - 1] == '/' ? "" : "/");
	return strstr(text, "/./") || strstr(text, "/../");
}

Test(domain_paths, any_text_has_one_form_or_is_refused)
{
	struct arena a;
	char text[TEXT_MAX];
	int taken = 0, refused = 0;

	arena_init(&a, 1 << 20);
	for (int i = 0; i < TEXTS; i++) {
		const char *why = NULL, *once, *twice, *slash;

		any_text(text);
		once = path_prefix(&a, text, &why);
		cr_assert_eq(once == NULL, means_two(text), "%s: %s", text,
			     once ? once : why);
		cr_assert(once || why);
		taken += once != NULL;
		refused += !once;
		if (once) {
			twice = path_prefix(&a, once, &why);
			cr_assert_str_eq(twice, once);
			/* One slash more or less at an end is no other place. */
			slash = path_prefix(
				&a,
				arena_printf(&a, "%s%s", text[0] == '/' ? "" : "/", text),
				&why);
			cr_assert_str_eq(slash, once);
			cr_assert(!*once ||
				  (once[0] != '/' && once[strlen(once) - 1] == '/'));
		}
		arena_reset(&a);
	}
	cr_assert(taken > TEXTS / 20 && refused > TEXTS / 20, "%d, %d", taken, refused);
	arena_free(&a);
}

/* --- as people write them ------------------------------------------------------------
 */

static const struct {
	const char *(*normal)(struct arena *a, const char *text, const char **ret_why);
	const char *text, *form; /* NULL: refused */
} rows[] = {
	{path_prefix, "models/", "models/"},
	{path_prefix, "/models/", "models/"},
	{path_prefix, "data", "data/"},
	{path_prefix, "dt=2026-01-01/hour=03", "dt=2026-01-01/hour=03/"},
	{path_prefix, "..data", "..data/"},
	{path_prefix, "/", ""},
	{path_prefix, "./", NULL},
	{path_prefix, "a/../../b/", NULL},
	{path_prefix, "a//b", NULL},
	{path_prefix, "a/.", NULL},
	{path_s3_uri, "s3://sagemaker-x", "s3://sagemaker-x"},
	{path_s3_uri, "S3://sagemaker-x/a/b/", "s3://sagemaker-x/a/b"},
	{path_s3_uri, "s3://sagemaker-x/a/../b", NULL},
	{path_s3_uri, "s3://sagemaker-x//a", NULL},
	{path_s3_uri, "s3:///a", NULL},
	{path_s3_uri, "https://sagemaker-x/a", NULL},
	{path_file, "on_create.sh", "on_create.sh"},
	{path_file, "./on_create.sh", "on_create.sh"},
	{path_file, "sub/on_create.sh", "sub/on_create.sh"},
	{path_file, "../on_create.sh", NULL},
	{path_file, "/opt/on_create.sh", NULL},
	{path_file, "scripts/", NULL},
};

Test(domain_paths, as_people_write_them)
{
	struct arena a;

	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *why = NULL, *z = rows[i].normal(&a, rows[i].text, &why);

		if (rows[i].form)
			cr_expect_str_eq(z ? z : "(refused)", rows[i].form, "%s",
					 rows[i].text);
		else
			cr_expect(!z && why, "%s is taken as %s", rows[i].text, z);
	}
	arena_free(&a);
}
