/*
 * listener.h - the UNIX sockets in RUN_DIR on which the processes listen.
 *
 * A process that replaces its own image (SIGHUP) hands them down in an environment
 * variable, so that nobody is turned away meanwhile.
 */
#ifndef INSTANTSTART_BASE_LISTENER_H
#define INSTANTSTART_BASE_LISTENER_H

#include "core/base/config.h"

/*
 * Takes the n sockets that the variable hands down (and unsets it), or opens one for each
 * file of RUN_DIR: only the owner and the configured group may connect. What lies at
 * their paths is removed: the caller holds the program's lock, so whoever has left it is
 * gone.
 */
bool listeners_open(const char *const *files, int *fds, int n, const char *variable,
		    const struct config *cfg, struct err *e)
	__attribute__((warn_unused_result));
/* Before an exec: they stay open, and the variable names them. */
void listeners_hand_down(const int *fds, int n, const char *variable);

#endif
