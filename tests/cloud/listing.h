/*
 * listing.h - pages of lists, and requests that are repeated with their token.
 *
 * For the services' handlers; what is answered lives in the call's arena.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_LISTING_H
#define INSTANTSTART_TESTS_CLOUD_LISTING_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "tests/cloud/cloud.h"

/*
 * Answers one page of `list` (borrowed) as {member: […], token: "…"}: from the
 * position in the input's token, as many as the input's limit says (or
 * `fallback`). A token that we did not give is refused with `code`.
 */
struct listing {
	const char *member; /* "clusters" */
	const char *token;  /* "nextToken"; in and out */
	const char *limit;  /* "maxResults"; NULL: none */
	size_t fallback;
	const char *code; /* "InvalidParameterException" */
};
bool listing_page(struct cloud_call *c, const struct listing *l, const json_t *list,
		  json_t **ret_out);

/* What became of a client's token. */
enum replay { REPLAY_NEW, REPLAY_SAME, REPLAY_OTHER };

/* `id` of what the token made, when it is the same request. Tokens are kept by
 * service; a request differs when its operation or any member does. */
enum replay replay_find(struct cloud_call *c, const char *token, const char **ret_id);
void replay_keep(struct cloud_call *c, const char *token, const char *id);

#endif
