/*
 * absent.h - when not to have seen a thing means that it is not there.
 *
 * Lists, filters and reads by name of the cloud miss what is young, for up to
 * VISIBILITY_MS after it was made. A deletion, an undo or a repeat that believes them
 * leaves the thing behind, or makes it twice. So there is one rule: of what the ledger
 * says we have made, absence is believed only when it was read later than that; until
 * then the step looks again. What is not in the ledger, or is old, is absent at once.
 *
 * Objects of Kubernetes and of Helm, and objects in S3, are read as they are.
 */
#ifndef INSTANTSTART_DOMAIN_STEP_ABSENT_H
#define INSTANTSTART_DOMAIN_STEP_ABSENT_H

#include "core/op/kind.h"

/*
 * What the ledger says of a thing of that type that was made for the cluster: rows
 * {type, id, made_ms, state}, the newest first. id NULL: the first of the type.
 */
const json_t *ledger_row(const struct step_ctx *c, const char *type, const char *id);
const json_t *ledger_rows(const struct step_ctx *c);

/* Made so lately that reads may miss it; id NULL: anything of the type. */
bool is_young(const struct step_ctx *c, const char *type, const char *id);
/*
 * It was not seen: true when it is not there. Else it is young, and the step waits for
 * the next look. A plan takes what it sees.
 */
bool is_absent(struct step_ctx *c, const char *type, const char *id, const char *what);
/*
 * For what somebody may be deleting right now: besides, two reads must agree, so far
 * apart. The first time it remembers the moment under data._gone.<type> and waits.
 */
bool is_absent_twice(struct step_ctx *c, const char *type, const char *id,
		     int64_t spacing_s, const char *what);
/* It was there after all: forgets the first sighting. */
void is_there(struct step_ctx *c, const char *type);

/*
 * For absorb() of a removal whose plan() has promised rows: they are gone when the
 * answer says so. "Not found" says nothing of what is young: then false, and the step
 * waits for the next look.
 */
bool removal_is_done(struct step_ctx *c, const struct answer *a);

#endif
