#include "core/op/world.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/aws/credentials.h"
#include "core/aws/partition.h"
#include "core/base/buf.h"
#include "core/json/tree.h"
#include "core/net/transport.h"
#include "core/op/caller.h"
#include "core/op/charts.h"
#include "gen/queries.h"

enum { CA_FILE_MAX = 1024 * 1024 };

static bool read_file(const char *variable, const char *path, struct arena *a,
		      const char **ret, struct err *e)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char chunk[4096];
	struct buf b;
	ssize_t n;

	if (fd < 0)
		return err_set(e, ERR_CONFIG, "%s: %s: %s", variable, path,
			       strerror(errno));
	buf_init(&b, a, CA_FILE_MAX);
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		buf_add(&b, chunk, (size_t)n);
	close(fd);
	if (n < 0 || b.overflow)
		return err_set(e, ERR_CONFIG, "%s: %s cannot be read", variable, path);
	*ret = buf_cstr(&b);
	return true;
}

/* What people have told the AWS CLI is known here too: variables, then the profile, then
 * where the instance is. */
static const char *region_of(const struct config *cfg, struct transport *net,
			     struct arena *a)
{
	static const char *const names[] = {"AWS_REGION", "AWS_DEFAULT_REGION"};
	const char *region = cfg->region;

	for (size_t i = 0; (!region || !*region) && i < 2; i++)
		region = config_from_env(NULL, names[i]);
	if (!region || !*region)
		region = aws_profile_setting(config_from_env, NULL, "region", a);
	return region && *region ? region
				 : aws_instance_region(net, config_from_env, NULL, a);
}

/* Further authorities: ours, and those that the AWS CLI and the SDKs are told of. */
static bool authorities(const struct config *cfg, struct arena *a, const char **ret,
			struct err *e)
{
	const char *theirs = config_from_env(NULL, "AWS_CA_BUNDLE");
	const char *variable = "AWS_CA_BUNDLE", *own = NULL, *pem = NULL;

	if (!theirs || !*theirs) {
		theirs = aws_profile_setting(config_from_env, NULL, "ca_bundle", a);
		variable = "ca_bundle of the profile";
	}
	if (cfg->ca_file && *cfg->ca_file &&
	    !read_file("INSTANTSTART_CA_FILE", cfg->ca_file, a, &own, e))
		return false;
	if (theirs && *theirs && !read_file(variable, theirs, a, &pem, e))
		return false;
	*ret = own && pem ? arena_printf(a, "%s\n%s", own, pem) : own ? own : pem;
	return true;
}

static bool make_aws(struct aws *ret, struct arena *a, const struct config *cfg,
		     struct clock *clock, struct rng *rng, struct err *e)
{
	const char *ca = NULL, *region;
	struct transport *net;

	if (!authorities(cfg, a, &ca, e))
		return false;
	net = net_curl_new(a, ca, e);
	if (!net)
		return false;
	region = region_of(cfg, net, a);
	if (!region) {
		err_set(e, ERR_CONFIG, "No region is configured");
		return err_fix(e,
			       "Set INSTANTSTART_REGION or AWS_REGION, or the region of "
			       "the profile.");
	}
	if (!aws_is_region(region)) {
		err_set(e, ERR_CONFIG, "\"%.40s\" is not an AWS region", region);
		return err_fix(e,
			       "Set INSTANTSTART_REGION or AWS_REGION to the name of a "
			       "region.");
	}
	*ret = (struct aws){
		.net = net,
		.credentials =
			aws_credentials_new(a, net, clock, region, config_from_env, NULL),
		.clock = clock,
		.rng = rng,
		.region = region,
		.timeout_ms = cfg->call_timeout_ms,
		.lookup = config_from_env,
	};
	return true;
}

bool world_check(const struct config *cfg, struct arena *a, struct buf *out,
		 struct err *e)
{
	struct clock *clock = clock_system();
	struct aws aws;
	struct aws_keys keys;
	json_t *caller;

	if (!make_aws(&aws, a, cfg, clock, rng_system(), e))
		return false;
	buf_printf(out, "region: %s (partition %s)\n", aws.region,
		   aws_partition_of(aws.region)->id);
	if (!aws_credentials_get(aws.credentials, a, &keys, e))
		return false;
	buf_printf(out, "credentials: %s\n", aws_credentials_source(aws.credentials));
	if (!aws_read(&aws, AWS_STS_GetCallerIdentity, json_new_object(a),
		      clock->mono_ms(clock) + cfg->read_deadline_ms, a, &caller, e))
		return false;
	buf_printf(out, "caller: %s\n", json_str_or(caller, "Arn", ""));
	return true;
}

bool world_init(struct world *w, struct arena *a, const struct config *cfg, struct db *db,
		struct clock *clock, struct rng *rng, const struct log *log,
		const struct kind *const *kinds, const char *worker, struct err *e)
{
	const char *tmp = config_from_env(NULL, "TMPDIR");
	const char *mirror =
		cfg->image_mirror && *cfg->image_mirror ? cfg->image_mirror : NULL;
	struct aws aws;

	if (!make_aws(&aws, a, cfg, clock, rng, e))
		return false;
	*w = (struct world){.where.region = aws.region, .aws = aws};
	if (!charts_load(cfg->charts, a, &w->where.charts, e) ||
	    (mirror && !helm_mirror_check(mirror, e)))
		return false;
	kube_init(&w->kube, a, w->aws.net, &w->aws, cfg->call_timeout_ms);
	w->helm = (struct helm){.binary = cfg->helm,
				.tmp_dir = tmp && *tmp ? tmp : "/tmp",
				.image_mirror = mirror,
				/* Its lease must outlive it. */
				.timeout_ms = cfg->lease_ms * 3 / 4};
	w->runner = (struct runner){.db = db,
				    .aws = &w->aws,
				    .kube = &w->kube,
				    .helm = &w->helm,
				    .cfg = cfg,
				    .where = &w->where,
				    .clock = clock,
				    .rng = rng,
				    .log = log,
				    .kinds = kinds,
				    .worker = worker,
				    .budget = &w->budget,
				    .rights = &w->rights};
	return true;
}

/* Once: neither changes while the database lives. */
static bool identify(struct world *w, struct arena *keep, struct arena *scratch,
		     struct err *e)
{
	struct db_rows rows;

	if (w->where.installation)
		return true;
	if (!db_query(w->runner.db, scratch, &Q_identity_get, NULL, 0, &rows, e))
		return false;
	if (rows.n == 0)
		return err_set(e, ERR_INTERNAL, "The database has no identity");
	w->where.earlier = json_parse(keep, str_of(db_text(&rows, 0, "earlier")), e);
	if (!w->where.earlier)
		return false;
	w->where.installation = arena_strdup(keep, db_text(&rows, 0, "id"));
	return true;
}

static bool know(struct world *w, struct arena *keep, struct arena *scratch,
		 struct err *e)
{
	struct db_rows rows;

	if (!identify(w, keep, scratch, e))
		return false;
	if (!db_query(w->runner.db, scratch, &Q_installation_get, NULL, 0, &rows, e))
		return false;
	if (rows.n == 0)
		return true;
	if (!streq(db_text(&rows, 0, "region"), w->where.region)) {
		err_set(e, ERR_CONFIG, "This database belongs to region %s, not %s",
			db_text(&rows, 0, "region"), w->where.region);
		return err_fix(e, "Use a separate database for each account and region.");
	}
	w->where.account = arena_strdup(keep, db_text(&rows, 0, "account"));
	w->aws.account = w->where.account;
	w->where.partition = arena_strdup(keep, db_text(&rows, 0, "partition"));
	w->where.caller_arn = arena_strdup(keep, db_text(&rows, 0, "caller_arn"));
	return true;
}

/* Asked again and again while there is no answer: that must not fill an arena that
 * lives as long as the process. */
bool world_know(struct world *w, struct arena *process, struct err *e)
{
	struct arena scratch;
	bool ok;

	arena_init(&scratch, 0);
	ok = know(w, process, &scratch, e);
	arena_free(&scratch);
	return ok;
}

/* "arn:aws-cn:sts::…": the word after the first colon. */
static const char *partition_of(const char *arn, struct arena *a)
{
	struct str rest = str_of(arn);

	str_cut(&rest, ':');
	return str_dup(a, str_cut(&rest, ':'));
}

static bool locate(struct world *w, struct arena *keep, struct arena *scratch,
		   struct err *e)
{
	const int64_t until =
		w->aws.clock->mono_ms(w->aws.clock) + w->runner.cfg->read_deadline_ms;
	const char *account, *arn;
	struct db_rows rows;
	json_t *caller;

	if (!identify(w, keep, scratch, e))
		return false;
	if (!aws_read(&w->aws, AWS_STS_GetCallerIdentity, json_new_object(scratch), until,
		      scratch, &caller, e))
		return false;
	account = json_str_or(caller, "Account", "");
	arn = caller_principal(&w->aws, json_str_or(caller, "Arn", ""), until, scratch);
	if (!DB(w->runner.db, scratch, &Q_installation_put, &rows, e, account,
		w->where.region, partition_of(arn, scratch), arn))
		return false;
	w->where.account = arena_strdup(keep, account);
	w->aws.account = w->where.account;
	w->where.caller_arn = arena_strdup(keep, arn);
	w->where.partition = partition_of(arn, keep);
	return true;
}

bool world_locate(struct world *w, struct arena *process, struct err *e)
{
	struct arena scratch;
	bool ok;

	arena_init(&scratch, 0);
	ok = locate(w, process, &scratch, e);
	arena_free(&scratch);
	return ok;
}
