/*
 * problem.h - RFC 9457 problem documents and the pages that explain them.
 */
#ifndef INSTANTSTART_FCGI_PROBLEM_H
#define INSTANTSTART_FCGI_PROBLEM_H

#include <stdbool.h>

#include "core/base/err.h"
#include "fcgi/http.h"

/* The document alone; `plan` (JSON text, may be empty) becomes a member. */
struct str problem_text(const struct err *e, const char *request_id, struct str plan,
			struct arena *a);
/* Status, type, body and the headers that go with the code. */
void problem_answer(const struct err *e, const struct http_req *req, struct str plan,
		    struct http_res *res);
/* /api/v1/problems and /api/v1/problems/<slug>. NULL slug: all of them. */
bool problem_explain(const char *slug, struct arena *a, struct str *ret, struct err *e);

#endif
