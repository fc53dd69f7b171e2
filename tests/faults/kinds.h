/*
 * kinds.h - operation kinds that use all that the runner can do.
 *
 *   classes   one step of every effect class, a wait, a step with two items
 *   blind     an action that leaves no evidence: held when its outcome is unknown
 *   leaf      one named object
 *   pipeline  two leaves as stages, undone by teardown
 *   teardown  deletes; gone after two agreeing reads beyond the lag
 *   asks      held by its own question
 *   limited   refused for good at first: succeeds after a retry
 */
#ifndef INSTANTSTART_TESTS_FAULTS_KINDS_H
#define INSTANTSTART_TESTS_FAULTS_KINDS_H

#include "core/op/kind.h"

extern const struct kind *const fault_kinds[];

#endif
