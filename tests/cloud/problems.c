/* What a service says about input that its model does not allow. */
#include <ctype.h>

#include "tests/cloud/core.h"

static const char *coral_message(struct arena *a, const struct problems *p)
{
	struct buf b;

	buf_init(&b, a, 65536);
	buf_printf(&b, "%zu validation error%s detected: ", p->n, p->n == 1 ? "" : "s");
	for (size_t i = 0; i < p->n; i++) {
		const struct problem *v = &p->v[i];

		if (i)
			buf_adds(&b, "; ");
		if (v->value)
			buf_printf(&b, "Value '%s'", v->value);
		else
			buf_adds(&b, "Value null");
		buf_printf(&b, " at '%s' failed to satisfy constraint: %s", v->path,
			   v->constraint);
	}
	return buf_cstr(&b);
}

static bool ec2_fault(struct cloud_call *call, const struct model_op *op,
		      const struct problem *v)
{
	/* EC2 speaks of parameters: the request's spelling, upper-case first. */
	char *name = arena_strdup(call->arena, v->member);

	(void)op;
	name[0] = (char)toupper((unsigned char)name[0]);
	switch (v->kind) {
	case PROBLEM_MISSING:
		return cloud_fault(call, "MissingParameter",
				   "The request must contain the parameter %s", name);
	case PROBLEM_UNKNOWN:
		return cloud_fault(call, "UnknownParameter",
				   "The parameter %s is not recognized", v->member);
	case PROBLEM_ENUM:
		/* The one enumeration that has an error of its own. */
		if (str_starts(name, "InstanceType"))
			return cloud_fault(call, "InvalidInstanceType",
					   "The following supplied instance types do not "
					   "exist: [%s]",
					   v->value);
		break;
	case PROBLEM_TYPE:
	case PROBLEM_PATTERN:
	case PROBLEM_LENGTH:
	case PROBLEM_RANGE:
		break;
	}
	return cloud_fault(call, "InvalidParameterValue",
			   "Value (%s) for parameter %s is invalid. %s",
			   v->value ? v->value : "", name, v->constraint);
}

static bool s3_fault(struct cloud_call *call, const struct problem *v)
{
	if (v->kind == PROBLEM_UNKNOWN && v->member[0] == '?') {
		cloud_fault(call, "NotImplemented",
			    "A parameter you provided implies functionality that is not "
			    "implemented: %s",
			    v->member + 1);
		call->fault_status = 501;
		return false;
	}
	if (v->kind == PROBLEM_UNKNOWN || v->kind == PROBLEM_TYPE)
		return cloud_fault(call, "MalformedXML",
				   "The XML you provided was not well-formed or did not "
				   "validate against our published schema (%s)",
				   v->path);
	return cloud_fault(call, "InvalidArgument", "%s: %s", v->path, v->constraint);
}

static bool has_kind(const struct problems *p, enum problem_kind kind)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->v[i].kind == kind)
			return true;
	return false;
}

void problems_to_fault(struct cloud_call *call, const struct model_op *op,
		       const struct problems *p)
{
	static const struct {
		const char *service, *code;
	} row[] = {
		{"eks", "InvalidParameterException"},
		{"logs", "InvalidParameterException"},
		{"service-quotas", "IllegalArgumentException"},
		{"iam", "ValidationError"},
		{"sts", "ValidationError"},
		{"cloudformation", "ValidationError"},
	};
	const char *code = "ValidationException";
	bool json = op->protocol == PROTO_JSON || op->protocol == PROTO_REST_JSON;

	if (op->protocol == PROTO_EC2) {
		ec2_fault(call, op, &p->v[0]);
		return;
	}
	if (op->protocol == PROTO_REST_XML) {
		s3_fault(call, &p->v[0]);
		return;
	}
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		if (streq(row[i].service, op->service))
			code = row[i].code;
	/* A wrong JSON type is met before any constraint is looked at. */
	if (json && has_kind(p, PROBLEM_TYPE))
		code = "SerializationException";
	cloud_fault(call, code, "%s", coral_message(call->arena, p));
}
