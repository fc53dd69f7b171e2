/*
 * version.h - versions of add-ons, charts and images, compared by their numbers.
 */
#ifndef INSTANTSTART_DOMAIN_STEP_VERSION_H
#define INSTANTSTART_DOMAIN_STEP_VERSION_H

/* < 0, 0, > 0: number by number, so that v1.10.0 is above v1.3.0; texts that are no
 * versions are below all. "-eksbuild.N" counts last. */
int version_compare(const char *a, const char *b);

#endif
