#include "core/aws/ini.h"

#include <string.h>

#include "core/json/tree.h"

/* The profile that a "[…]" line heads, or an empty string for other sections. */
static struct str profile_of(struct str line, bool config_file)
{
	struct str name = {line.p + 1, line.n - 1};
	struct str word;

	name = str_trim(str_cut(&name, ']'));
	if (!config_file || str_is(name, "default"))
		return name;
	word = str_cut(&name, ' ');
	return str_is(word, "profile") && name.p ? str_trim(name) : (struct str){0};
}

/* A '#' or ';' behind a blank starts a comment. */
static struct str without_comment(struct str value)
{
	for (size_t i = 1; i < value.n; i++)
		if ((value.p[i] == '#' || value.p[i] == ';') &&
		    (value.p[i - 1] == ' ' || value.p[i - 1] == '\t'))
			value.n = i;
	return str_trim(value);
}

static void read_setting(json_t *profile, struct str line, struct arena *a)
{
	struct str key = str_trim(str_cut(&line, '='));
	json_t *value;

	if (!line.p || key.n == 0)
		return;
	line = without_comment(str_trim(line));
	value = json_stringn(line.p, line.n);
	if (value)
		json_object_set_new(profile, str_dup(a, key), value);
}

void ini_read(json_t *profiles, struct str text, bool config_file, struct arena *a)
{
	json_t *profile = NULL;

	while (text.p) {
		struct str line = str_cut(&text, '\n');
		struct str trimmed = str_trim(line);
		const char *name;

		if (trimmed.n == 0 || *trimmed.p == '#' || *trimmed.p == ';')
			continue;
		if (*trimmed.p != '[') {
			if (profile && *line.p != ' ' && *line.p != '\t')
				read_setting(profile, trimmed, a);
			continue;
		}
		name = str_dup(a, profile_of(trimmed, config_file));
		profile = *name && str_is_utf8(str_of(name))
				  ? json_object_get(profiles, name)
				  : NULL;
		if (profile || !*name || !str_is_utf8(str_of(name)))
			continue;
		profile = json_object();
		json_object_set_new(profiles, name, profile);
	}
}
