/*
 * Partitions: every zone of every region is taken wherever one may be given, and what
 * is derived from a region is of its partition. The regions are the published ones.
 */
#include "tests/unit/aws_fake.h"
#include "tests/unit/domain_scene.h"

#include "core/domain/offer/zones.h"
#include "core/json/field.h"

/* Runs for every published region. */
static void each_region(void (*run)(struct arena *a, const char *region))
{
	struct arena keep;
	const char *id;
	json_t *file, *partition, *region;
	size_t i, n = 0;

	arena_init(&keep, 0);
	file = fake_json_file(&keep, "tests/unit/data/aws/endpoints.json");
	json_object_foreach(json_at(file, "partitions"), id, partition) {
		json_array_foreach(json_at(partition, "regions"), i, region) {
			struct arena a;

			arena_init(&a, 0);
			run(&a, json_string_value(region));
			arena_free(&a);
			n++;
		}
	}
	cr_expect_gt(n, 40);
	arena_free(&keep);
}

/* Forms of names and ids as AWS has them; %s is the region, or the ids' short form. */
static const struct {
	const char *name, *id, *type;
} zone_forms[] = {
	{"%sa", "%s-az1", "availability-zone"},
	{"%sb", "%s-az2", "availability-zone"},
	{"%sf", "%s-az6", "availability-zone"},
	{"%s-lax-1a", "%s-lax1-az1", "local-zone"},
	{"%s-dfw-2a", "%s-dfw2-az1", "local-zone"},
	{"%s-wl1-bos-wlz-1", "%s-wl1-bos-wlz1", "wavelength-zone"},
};

enum { N_FORMS = sizeof(zone_forms) / sizeof(zone_forms[0]) };

static const char *formed(struct arena *a, const char *form, const char *word)
{
	return arena_printf(a, "%s%s", word, form + strlen("%s"));
}

/* "usgw1" of "us-gov-west-1", and the like: what it is does not matter. */
static const char *short_form(struct arena *a, const char *region)
{
	struct str rest = str_of(region);
	struct buf b;

	buf_init(&b, a, 64);
	for (struct str word = str_cut(&rest, '-'); word.p; word = str_cut(&rest, '-')) {
		buf_add(&b, word.p, b.len || word.n < 2 ? 1 : 2);
		if (!rest.p)
			break;
	}
	return buf_cstr(&b);
}

static json_t *zones_of(struct arena *a, const char *region)
{
	json_t *list = json_new_list(a);

	for (size_t i = 0; i < N_FORMS; i++)
		json_push(list,
			  json_pack("{s:s, s:s, s:s, s:s}", "ZoneName",
				    formed(a, zone_forms[i].name, region), "ZoneId",
				    formed(a, zone_forms[i].id, short_form(a, region)),
				    "ZoneType", zone_forms[i].type, "State",
				    "available"));
	return list;
}

/* All capabilities that take a zone take this one; none takes a region. */
static void check_fields(struct arena *a, const char *zone)
{
	size_t n = 0;

	for (size_t i = 0; capabilities[i]; i++) {
		for (const struct field *f = capabilities[i]->in; f && f->name; f++) {
			json_t *in;
			void *out;
			struct field one[2] = {*f, {.name = NULL}};
			struct err e = {0};

			if (!streq(f->name, "zone") && !streq(f->name, "zones"))
				continue;
			n++;
			in = f->type == FIELD_STRS
				     ? json_packf(a, "{s:[s]}", f->name, zone)
				     : json_packf(a, "{s:s}", f->name, zone);
			out = arena_alloc(a, capabilities[i]->in_size);
			cr_expect(field_decode(one, in, a, out, &e), "%s of %s: %s: %s",
				  f->name, capabilities[i]->name, zone, e.detail);
		}
	}
	cr_expect_geq(n, 5);
}

static const char *played(struct arena *a, const char *region, const char *kind,
			  const char *step, const char *zone, const json_t *zones,
			  const char *id)
{
	const struct scene s = {
		.kind = kind,
		.step = step,
		.region = region,
		.input = arena_printf(
			a, "{'zone':'%s','instance_type':'ml.p5.48xlarge','count':1}",
			zone),
		.answers = arena_printf(
			a,
			"{'ec2:DescribeAvailabilityZones':{'AvailabilityZones':%s},"
			"'ec2:DescribeVpcs':{'Vpcs':[]},"
			"'ec2:DescribeInstanceTypeOfferings':{'InstanceTypeOfferings':"
			"[{'InstanceType':'p5.48xlarge','Location':'%s'}]}}",
			json_text(a, zones), id)};

	return scene_play(a, &s);
}

static void take_zones(struct arena *a, const char *region)
{
	json_t *zones = zones_of(a, region), *zone;
	size_t i;

	cr_expect(zone_is_region(region), "%s", region);
	json_array_foreach(zones, i, zone) {
		const char *id = json_str_at(zone, "ZoneId");
		const char *forms[] = {json_str_at(zone, "ZoneName"), id};

		/* Nodes may stand anywhere, control planes not. */
		if (!streq(zone_forms[i].type, "availability-zone"))
			cr_expect_not(zone_takes_eks(zone));
		for (size_t f = 0; f < 2; f++) {
			cr_expect(!zone_is_region(forms[f]), "%s", forms[f]);
			check_fields(a, forms[f]);
			cr_expect(strstr(played(a, region, "create_eks_control_plane",
						"choose_network", forms[f], zones, id),
					 "advance"),
				  "%s", forms[f]);
			cr_expect(strstr(played(a, region, "create_hyperpod_cluster",
						"check_offering", forms[f], zones, id),
					 "advance"),
				  "%s", forms[f]);
		}
	}
	cr_expect(strstr(played(a, region, "create_hyperpod_cluster", "check_offering",
				arena_printf(a, "%sz", region), zones, "x"),
			 "is not a zone of"));
}

Test(domain_partitions, every_zone_of_every_partition_is_taken)
{
	each_region(take_zones);
}

/* A text of ours may hold host names of its partition, and words that are the same
 * everywhere; ARNs only of its partition. */
static void check_text(const char *step, const char *region, const char *said)
{
	static const char *const words[] = {
		"\"sts.amazonaws.com\"",
		"sagemaker.amazonaws.com\"",
		"eks.amazonaws.com\"",
		"elasticloadbalancing.amazonaws.com\"",
	};
	const struct aws_partition *p = aws_partition_of(region);

	for (const char *at = said; (at = strstr(at, "arn:")); at++)
		cr_expect(!strncmp(at + 4, p->id, strlen(p->id)) &&
				  at[4 + strlen(p->id)] == ':',
			  "%s in %s: %.60s", step, region, at);
	for (const char *at = said; (at = strstr(at, ".amazonaws.")); at++) {
		bool word = str_starts(at + 1, p->dns_suffix);

		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			const char *dot = strstr(words[i], ".amazonaws.");
			const size_t n = strlen(dot) - 1;

			word = word ||
			       (!strncmp(at, dot, n) && (at[n] == '\'' || at[n] == '\\'));
		}
		cr_expect(word, "%s in %s: %.60s", step, region, at - 20);
	}
}

static bool has_suffix(const char *z, const char *end)
{
	return str_has_suffix(str_of(z), str_of(end));
}

/* Every role that is made anywhere, with its trust, policies and identity provider. */
static void check_roles(struct arena *a, const char *region)
{
	const char *suffix = aws_partition_of(region)->dns_suffix;
	const char *data = arena_printf(
		a, "{'eks':{'name':'is-demo','issuer':'https://oidc.eks.%s.%s/id/BB'}}",
		region, suffix);
	size_t n = 0;

	for (size_t k = 0; kinds[k]; k++) {
		for (const struct step *s = kinds[k]->steps; s->name; s++) {
			const struct scene scene = {
				.kind = kinds[k]->name,
				.step = s->name,
				.region = region,
				.input = "{'feature':'x','enabled':true,'adopt':true}",
				.data = data};
			const char *said;

			if (!has_suffix(s->name, "_role") &&
			    !has_suffix(s->name, "_role_policy") &&
			    !has_suffix(s->name, "_role_managed") &&
			    !streq(s->name, "oidc_provider"))
				continue;
			said = scene_play(a, &scene);
			check_text(s->name, region, said);
			n += strstr(said, "call iam:") != NULL;
			if (streq(s->name, "oidc_provider") ||
			    streq(s->name, "inference_operator_role"))
				cr_expect(strstr(said, "sts.amazonaws.com'") ||
						  strstr(said, "sts.amazonaws.com\\'"),
					  "%s in %s: %s", s->name, region, said);
			if (streq(s->name, "autoscaling_role_policy"))
				cr_expect(strstr(said, arena_printf(a, "sagemaker.*.%s",
								    suffix)),
					  "%s: %s", region, said);
		}
	}
	cr_expect_geq(n, 10, "%zu", n);
}

Test(domain_partitions, what_is_derived_is_of_the_region_s_partition)
{
	each_region(check_roles);
}
