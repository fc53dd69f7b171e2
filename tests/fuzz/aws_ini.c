/* Shared config and credentials files of any bytes. */
#include <stdint.h>
#include <stdlib.h>

#include "core/aws/ini.h"
#include "core/json/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = {0};
	json_t *profiles = json_new_object(&a);
	const char *name;
	json_t *profile;

	ini_read(profiles, (struct str){(const char *)data, size}, true, &a);
	ini_read(profiles, (struct str){(const char *)data, size}, false, &a);
	json_object_foreach(profiles, name, profile) {
		if (!*name || !json_is_object(profile))
			abort();
	}
	json_text(&a, profiles);
	arena_free(&a);
	return 0;
}
