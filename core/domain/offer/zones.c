#include "core/domain/offer/zones.h"

#include <string.h>

#include "core/json/tree.h"

static const char *const no_eks[] = {"use1-az3", "usw1-az2", "cac1-az3", NULL};

bool zone_takes_eks(const json_t *zone)
{
	if (!zone || !streq(json_str_or(zone, "ZoneType", "availability-zone"),
			    "availability-zone"))
		return false;
	for (size_t i = 0; no_eks[i]; i++)
		if (streq(no_eks[i], json_str_at(zone, "ZoneId")))
			return false;
	return true;
}

bool zone_is_region(const char *name)
{
	struct str rest = str_of(name), word = {0};
	int words = 0;

	while (rest.p) {
		word = str_cut(&rest, '-');
		words++;
		if (rest.p && (word.n == 0 ||
			       strspn(word.p, "abcdefghijklmnopqrstuvwxyz") < word.n))
			return false;
	}
	return words >= 3 && word.n > 0 && strspn(word.p, "0123456789") == word.n;
}

const json_t *zone_find(const json_t *zones, const char *wanted)
{
	size_t i;
	json_t *zone;

	json_array_foreach(zones, i, zone)
		if (streq(json_str_at(zone, "ZoneName"), wanted) ||
		    streq(json_str_at(zone, "ZoneId"), wanted))
			return zone;
	return NULL;
}

static bool usable(const json_t *zone)
{
	return streq(json_str_or(zone, "State", ""), "available") && zone_takes_eks(zone);
}

bool zones_choose(const json_t *zones, const char *wanted, const json_t *ret[2])
{
	const json_t *first = wanted ? zone_find(zones, wanted) : NULL;
	size_t n = 0, i;
	json_t *zone;

	if (first && usable(first))
		ret[n++] = first;
	json_array_foreach(zones, i, zone) {
		if (n == 2)
			break;
		if (zone != first && usable(zone))
			ret[n++] = zone;
	}
	return n == 2;
}
