#include "core/domain/site/group_in.h"

static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute",
				      NULL};

/* https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/core/validation/validation.go
 * (validateNodeTaints) */
const char *const taint_unique[] = {"key", "effect", NULL};

const struct field taint_in[] = {FIELD(struct taint, key, .flags = FIELD_REQUIRED,
				       .min = 1, .max = 317, .doc = "Key."),
				 FIELD(struct taint, value, .max = 63, .doc = "Value."),
				 FIELD(struct taint, effect, .one_of = effects,
				       .dflt = "\"NoSchedule\"", .doc = "Effect."),
				 FIELD_END};

const char *const deep_health_checks[] = {"InstanceStress", "InstanceConnectivity", NULL};
