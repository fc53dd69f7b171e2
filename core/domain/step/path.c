#include "core/domain/step/path.h"

#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/str.h"

enum { PATH_MAX_LEN = 1100 };

static const char empty_part[] =
	"has an empty part (\"//\"), which names another object in S3";
static const char dot_part[] =
	"has a part \".\" or \"..\", which S3 and a mount treat differently";

/* Parts joined by "/", without slashes at either end; NULL: it means two things. */
static const char *parts_of(struct arena *a, const char *text, const char **ret_why)
{
	struct str rest = str_of(text);
	struct buf b;

	while (rest.n && rest.p[0] == '/')
		rest = (struct str){rest.p + 1, rest.n - 1};
	while (rest.n && rest.p[rest.n - 1] == '/')
		rest.n--;
	buf_init(&b, a, PATH_MAX_LEN);
	while (rest.n) {
		const char *part = str_dup(a, str_cut(&rest, '/'));

		if (!*part || streq(part, ".") || streq(part, "..")) {
			*ret_why = *part ? dot_part : empty_part;
			return NULL;
		}
		buf_printf(&b, "%s%s", b.len ? "/" : "", part);
	}
	return b.len ? buf_cstr(&b) : "";
}

/* "//a" and "a//" have an empty part, too; one slash at an end is a habit. */
static bool has_double_end(const char *text)
{
	const size_t n = strlen(text);

	return str_starts(text, "//") || (n > 1 && streq(text + n - 2, "//"));
}

static const char *plain(struct arena *a, const char *text, const char **ret_why)
{
	if (!has_double_end(text))
		return parts_of(a, text, ret_why);
	*ret_why = empty_part;
	return NULL;
}

const char *path_prefix(struct arena *a, const char *text, const char **ret_why)
{
	const char *z = plain(a, text, ret_why);

	return !z || !*z ? z : arena_printf(a, "%s/", z);
}

const char *path_s3_uri(struct arena *a, const char *text, const char **ret_why)
{
	const size_t scheme = strlen("s3://");
	const char *z;

	if (strncasecmp(text, "s3://", scheme) != 0 || !text[scheme] ||
	    text[scheme] == '/') {
		*ret_why = "is not a location in S3";
		return NULL;
	}
	z = plain(a, text + scheme, ret_why);
	return z ? arena_printf(a, "s3://%s", z) : NULL;
}

const char *path_file(struct arena *a, const char *text, const char **ret_why)
{
	while (str_starts(text, "./") && text[2] && text[2] != '/')
		text += 2;
	if (text[0] == '/' || (*text && text[strlen(text) - 1] == '/')) {
		*ret_why = "must be a file in the folder";
		return NULL;
	}
	return plain(a, text, ret_why);
}
