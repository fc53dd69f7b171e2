/*
 * serve.h - everything in one event loop: parked requests, events, logs.
 */
#ifndef INSTANTSTART_LIVE_SERVE_H
#define INSTANTSTART_LIVE_SERVE_H

#include <stdbool.h>

#include "core/base/config.h"
#include "core/base/err.h"
#include "core/base/log.h"

/* Until stop_fd is readable and everybody has been sent away. */
bool serve(const struct config *cfg, const struct log *log, int park_fd, int ws_fd,
	   int stop_fd, struct err *e) __attribute__((warn_unused_result));

#endif
