/*
 * limits.h - every named maximum of the program, in one place.
 *
 * A growing buffer, list or loop that takes its size from outside is bounded
 * by one of these. Sizes are bytes unless the name says otherwise.
 */
#ifndef INSTANTSTART_BASE_LIMITS_H
#define INSTANTSTART_BASE_LIMITS_H

enum {
	/* One unit of work: a request or a poller step. */
	LIMIT_ARENA = 64 * 1024 * 1024,
	/* A request body at the faces; nginx refuses more before we see it. */
	LIMIT_REQUEST_BODY = 1024 * 1024,
	/* Values in a request's JSON: each costs far more than its bytes. */
	LIMIT_REQUEST_VALUES = 20000,
	LIMIT_REQUEST_PATH = 2048,
	LIMIT_REQUEST_QUERY = 4096,
	/* An answer of a cloud service. A longer one is refused, not cut. */
	LIMIT_CLOUD_BODY = 10 * 1024 * 1024,
	/* A statement or row exchanged with PostgreSQL. */
	LIMIT_DB_PARAM = 4 * 1024 * 1024,
	LIMIT_LOG_LINE = 16 * 1024,
	LIMIT_JSON_DEPTH = 64,
	/* Violations reported for one input; then checking stops. */
	LIMIT_VIOLATIONS = 32,
	/* Values of an input that the audit row and a plan show. */
	LIMIT_MASKED_VALUES = 4096,
	/*
	 * Reads that one step may make in one claim before it settles. SageMaker has
	 * more than 1500 quotas, a hundred a page, and as many defaults.
	 */
	LIMIT_READS_PER_CLAIM = 128,
	LIMIT_PAGES = 200,
};

#endif
