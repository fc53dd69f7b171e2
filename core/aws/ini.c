#include "core/aws/ini.h"

#include <string.h>

#include "core/json/tree.h"

/* The name may be quoted: [profile "my profile"]. */
static struct str unquoted(struct str name)
{
	if (name.n >= 2 && (*name.p == '"' || *name.p == '\'') &&
	    name.p[name.n - 1] == *name.p)
		return (struct str){name.p + 1, name.n - 2};
	return name;
}

/* The profile or session that a "[…]" line heads; an empty one for other sections. */
static const char *head_of(struct str line, bool config_file, struct arena *a)
{
	struct str name = {line.p + 1, line.n - 1};
	size_t n;

	name = str_trim(str_cut(&name, ']'));
	if (!config_file || str_is(name, "default"))
		return str_dup(a, unquoted(name));
	for (n = 0; n < name.n && name.p[n] != ' ' && name.p[n] != '\t'; n++)
		;
	if (n == name.n)
		return "";
	line = unquoted(str_trim((struct str){name.p + n, name.n - n}));
	name.n = n;
	if (str_is(name, "profile"))
		return str_dup(a, line);
	return str_is(name, "sso-session") && line.n > 0
		       ? arena_printf(a, INI_SSO_SESSION "%.*s", (int)line.n, line.p)
		       : "";
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
		name = head_of(trimmed, config_file, a);
		profile = *name && str_is_utf8(str_of(name))
				  ? json_object_get(profiles, name)
				  : NULL;
		if (profile || !*name || !str_is_utf8(str_of(name)))
			continue;
		profile = json_object();
		json_object_set_new(profiles, name, profile);
	}
}
