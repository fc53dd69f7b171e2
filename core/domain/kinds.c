/* Every operation kind, one line each. Names are stored: see core/op/kind.h. */
#include <stddef.h>

#include "core/domain/capability.h"

const struct kind *const kinds[] = {
	NULL,
};
