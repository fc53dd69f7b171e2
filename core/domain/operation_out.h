/*
 * operation_out.h - what an operation looks like to those who asked for it.
 *
 * operation_out is the `out` of every CAP_LONG row and of the operation
 * capabilities. The text itself comes from the journal (journal_get,
 * journal_submit); this is its declaration.
 */
#ifndef INSTANTSTART_DOMAIN_OPERATION_OUT_H
#define INSTANTSTART_DOMAIN_OPERATION_OUT_H

#include "core/json/field.h"

extern const struct field operation_out[];

#endif
