#include "core/domain/site/lock.h"

#include "core/json/tree.h"

void lock_cluster(const char *target, const json_t *input, struct arena *a,
		  struct str_list *ret)
{
	const char *eks = json_str_at(input, "eks_name");

	str_list_add(a, ret, arena_printf(a, "cluster/%s", target));
	/* One EKS cluster may be imported under a second name. */
	str_list_add(a, ret, arena_printf(a, "eks/%s", eks ? eks : target));
}
