/* What a refused value was probably meant to be. */
#include "core/domain/site/cluster_in.h"

#include <ctype.h>
#include <string.h>

#include "core/base/buf.h"

enum { NAME_MAX_LEN = 63 };

/* EC2's spelling: only SageMaker writes ml. in front (case CC-02). */
const char *meant_instance_type(struct arena *a, const json_t *value)
{
	const char *z = json_string_value(value);

	return z ? arena_printf(a, "ml.%s", z) : NULL;
}

/* "v1.33", and the number that YAML makes of an unquoted 1.30 (case CC-13). */
const char *meant_version(struct arena *a, const json_t *value)
{
	const char *z = json_string_value(value);

	if (json_is_real(value))
		return arena_printf(a, "%.2f", json_real_value(value));
	return z && (*z == 'v' || *z == 'V') ? z + 1 : NULL;
}

/*
 * Letters, digits and single inner hyphens; everything else becomes one. A letter of
 * another alphabet has no such letter that it stands for: without it the name would be
 * another one.
 */
static const char *hyphened(struct arena *a, const json_t *value, bool lower)
{
	const char *z = json_string_value(value);
	struct buf out;
	bool gap = false;

	buf_init(&out, a, NAME_MAX_LEN + 1);
	for (; z && *z && out.len < NAME_MAX_LEN; z++) {
		if ((unsigned char)*z >= 0x80)
			return NULL;
		if (!isalnum((unsigned char)*z)) {
			gap = out.len > 0;
			continue;
		}
		if (gap)
			buf_addc(&out, '-');
		gap = false;
		buf_addc(&out, (char)(lower ? tolower((unsigned char)*z) : *z));
	}
	return out.len ? buf_cstr(&out) : NULL;
}

const char *meant_group_name(struct arena *a, const json_t *value)
{
	return hyphened(a, value, false);
}

const char *meant_cluster_name(struct arena *a, const json_t *value)
{
	return hyphened(a, value, true);
}
