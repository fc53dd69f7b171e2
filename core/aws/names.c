#include "core/aws/names.h"

#include <string.h>

#include "core/base/str.h"

#define ANY NULL

static const struct aws_name names[] = {
#define AWS_NAME(service, within, element, member, kind)                                 \
	{AWS_SERVICE_##service, within, element, member, NAME_##kind},
#define AWS_WIRE(...)
#define AWS_TIME(...)
#include "core/aws/names.def"
#undef AWS_NAME
#undef AWS_WIRE
#undef AWS_TIME
};

struct wire {
	enum aws_service_id service;
	const char *within;
	const char *member;
	const char *element;
};

static const struct wire wires[] = {
#define AWS_NAME(...)
#define AWS_WIRE(service, within, member, element)                                       \
	{AWS_SERVICE_##service, within, member, element},
#define AWS_TIME(...)
#include "core/aws/names.def"
#undef AWS_NAME
#undef AWS_WIRE
#undef AWS_TIME
};

struct time_member {
	enum aws_service_id service;
	const char *member;
};

static const struct time_member times[] = {
#define AWS_NAME(...)
#define AWS_WIRE(...)
#define AWS_TIME(service, member) {AWS_SERVICE_##service, member},
#include "core/aws/names.def"
#undef AWS_NAME
#undef AWS_WIRE
#undef AWS_TIME
};

enum {
	N_NAMES = sizeof(names) / sizeof(*names),
	N_WIRES = sizeof(wires) / sizeof(*wires),
	N_TIMES = sizeof(times) / sizeof(*times),
};

const struct aws_name *aws_names(size_t *ret_n)
{
	*ret_n = N_NAMES;
	return names;
}

static int order(const struct aws_name *n, enum aws_service_id service,
		 const char *element)
{
	if (n->service != service)
		return n->service < service ? -1 : 1;
	return strcmp(n->element, element);
}

const struct aws_name *aws_name_of(enum aws_service_id service, const char *within,
				   const char *element)
{
	size_t low = 0, high = N_NAMES;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (order(&names[mid], service, element) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < N_NAMES && order(&names[low], service, element) == 0; low++)
		if (!names[low].within || streq(names[low].within, within))
			return &names[low];
	return NULL;
}

const char *aws_wire_of(enum aws_service_id service, const char *within,
			const char *member)
{
	for (size_t i = 0; i < N_WIRES; i++)
		if (wires[i].service == service && streq(wires[i].member, member) &&
		    (!wires[i].within || streq(wires[i].within, within)))
			return wires[i].element;
	return member;
}

bool aws_is_time(enum aws_service_id service, const char *member)
{
	for (size_t i = 0; i < N_TIMES; i++)
		if (times[i].service == service && streq(times[i].member, member))
			return true;
	return false;
}
