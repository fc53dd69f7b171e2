#include "core/kube/webhook.h"

#include <string.h>

#include "core/base/str.h"

/* The text up to one of the bytes in `ends`. */
static const char *until(struct arena *a, const char *p, const char *ends)
{
	return arena_strndup(a, p, strcspn(p, ends));
}

/* "https://SERVICE.NAMESPACE.svc:443/path?timeout=10s": WHY */
static void parse_address(const char *p, struct arena *a, struct kube_webhook *ret)
{
	const char *host = strstr(p, "https://");
	const char *end = strstr(p, "\": ");
	const char *dot, *svc;

	if (host && end && host < end) {
		host += strlen("https://");
		dot = strchr(host, '.');
		svc = strstr(host, ".svc");
		if (dot && svc && dot < svc && svc < end) {
			ret->service = arena_strndup(a, host, (size_t)(dot - host));
			ret->ns = arena_strndup(a, dot + 1, (size_t)(svc - dot - 1));
		}
	}
	if (end && (!host || host < end))
		ret->why = until(a, end + 3, "\n");
}

bool kube_webhook_of(const char *text, struct arena *a, struct kube_webhook *ret)
{
	const char *p = text ? strstr(text, KUBE_WEBHOOK_FAILED) : NULL;

	*ret = (struct kube_webhook){.name = "", .ns = "", .service = "", .why = ""};
	if (!p)
		return false;
	p += strlen(KUBE_WEBHOOK_FAILED);
	if (*p == ',') /* as older servers say it: failed calling webhook, …: */
		p++;
	while (*p == ' ')
		p++;
	if (*p == '"') {
		ret->name = until(a, p + 1, "\"\n");
		p += strcspn(p + 1, "\"\n") + 1;
		p += *p == '"';
	}
	if (*p == ':')
		p++;
	while (*p == ' ')
		p++;
	ret->why = until(a, p, "\n");
	parse_address(p, a, ret);
	return true;
}
