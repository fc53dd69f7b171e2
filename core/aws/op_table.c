#include "core/aws/op_table.h"

#define READ                              false
#define CHANGE                            true
#define PAGES(in, out, lists)             .in_token = (in), .out_token = (out), .items = (lists)
#define PAGES_WHILE(flag, in, out, lists) PAGES(in, out, lists), .more = (flag)

static const struct aws_op ops[] = {
/* What follows the name begins with READ or CHANGE: the value of `mutates`. */
#define AWS_OP(s, op, ...)                                                               \
	[AWS_##s##_##                                                                    \
		op] = {.service = AWS_SERVICE_##s, .name = #op, .mutates = __VA_ARGS__},
#include "core/aws/ops.def"
#undef AWS_OP
};

const struct aws_op *aws_op(enum aws_op_id id)
{
	return &ops[id];
}

const char *aws_op_service(const struct aws_op *op)
{
	return aws_service(op->service)->name;
}

const char *aws_op_name(const struct aws_op *op)
{
	return op->name;
}

bool aws_op_mutates(const struct aws_op *op)
{
	return op->mutates;
}

const char *aws_op_goes_on(const struct aws_op *op)
{
	return op->goes_on;
}

const char *aws_op_token_member(const struct aws_op *op)
{
	return op->token;
}
