/*
 * ini.h - the format of ~/.aws/config and ~/.aws/credentials.
 *
 * https://docs.aws.amazon.com/sdkref/latest/guide/file-format.html
 */
#ifndef INSTANTSTART_AWS_INI_H
#define INSTANTSTART_AWS_INI_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/arena.h"
#include "core/base/str.h"

/*
 * Adds the profiles of a text to `profiles` (name -> {key: value}). In a config
 * file profiles but "default" are headed [profile NAME], and sessions of IAM Identity
 * Center [sso-session NAME] (INI_SSO_SESSION before the name, which no profile's can
 * have); other sections are passed over. Names may be quoted. Later values win. Indented
 * lines (nested settings) are skipped.
 */
#define INI_SSO_SESSION "sso-session\n"
void ini_read(json_t *profiles, struct str text, bool config_file, struct arena *a);

#endif
