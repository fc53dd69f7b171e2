/*
 * tls.h - a certificate authority and a server certificate, made at start.
 *
 * For 127.0.0.1, ::1 and localhost. All texts live in the given arena.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_TLS_H
#define INSTANTSTART_TESTS_CLOUD_TLS_H

#include <stdbool.h>

#include "core/base/arena.h"

struct tls_pems {
	const char *ca;   /* certificate of the authority */
	const char *cert; /* of the server */
	const char *key;  /* of the server */
};

bool tls_make(struct arena *a, struct tls_pems *ret);

#endif
