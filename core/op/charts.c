#include "core/op/charts.h"

#include "core/base/str.h"
#include "core/json/tree.h"

bool charts_load(const char *folder, struct arena *a, const json_t **ret, struct err *e)
{
	const char *path;
	json_error_t why;
	json_t *list;
	json_t *row;
	size_t i;

	*ret = NULL;
	if (!folder || !*folder)
		return true;
	path = arena_printf(a, "%s/charts.json", folder);
	list = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
	if (!list)
		return err_set(e, ERR_CONFIG, "INSTANTSTART_CHARTS: %s: %s", path,
			       why.text);
	json_own(a, list);
	json_array_foreach(list, i, row) {
		const char *chart = json_str_at(row, "chart");

		if (!json_str_at(row, "component") || !chart)
			return err_set(e, ERR_CONFIG,
				       "%s: row %zu names no component or chart", path,
				       i + 1);
		if (chart[0] != '/')
			json_put_str(row, "chart",
				     arena_printf(a, "%s/%s", folder, chart));
		json_put_str(row, "folder", folder);
	}
	if (!json_is_array(list))
		return err_set(e, ERR_CONFIG, "%s is not a list", path);
	*ret = list;
	return true;
}

json_t *charts_definition(const json_t *row, const char *name, struct arena *a,
			  struct err *e)
{
	const char *path = arena_printf(a, "%s/definitions/%s/%s.json",
					json_str_or(row, "folder", ""),
					json_str_or(row, "component", ""), name);
	json_error_t why;
	json_t *tree = json_load_file(path, JSON_REJECT_DUPLICATES, &why);

	if (!tree) {
		err_set(e, ERR_CONFIG, "INSTANTSTART_CHARTS: %s: %s", path, why.text);
		return NULL;
	}
	return json_own(a, tree);
}
