/*
 * look.h - what is left of a mounted storage: its bucket, claim and volume, as they are
 * now. The catalog says only that it was mounted once; people delete things by hand.
 */
#ifndef INSTANTSTART_DOMAIN_STORAGE_LOOK_H
#define INSTANTSTART_DOMAIN_STORAGE_LOOK_H

#include "core/domain/capability.h"

enum storage_source { STORAGE_BUCKET, STORAGE_CLAIM, STORAGE_VOLUME, STORAGE_SOURCES };
extern const char *const storage_sources[STORAGE_SOURCES]; /* "bucket", … */

/* One source; told false: it did not answer, and row.not_known says why. */
struct storage_found {
	bool told;
	const json_t *object; /* NULL: it does not exist */
};

/* Pure: sets row.status (mounted, broken or unknown; partial stays) and row.why. */
void storage_judge(struct arena *a, json_t *row,
		   const struct storage_found found[STORAGE_SOURCES]);

/*
 * Looks at all rows of the catalog's storages of one cluster: a list of claims, one of
 * volumes, and each bucket once. What does not answer is in the rows' not_known.
 */
void storage_look(struct call *c, const char *cluster, json_t *rows);

#endif
