/*
 * The main job in one region of every partition: a cluster with its add-ons, nodes,
 * features, storage and autoscaling is made and deleted, on the simulated cloud of that
 * region. What was sent, to which host, and what is left in the cloud is of the
 * partition: no ARN, host or region of another one.
 */
#include "tests/unit/aws_fake.h"
#include "tests/unit/cloud_operate.h"

/* Hosts of all requests. */
struct watch {
	struct transport t;
	struct transport *below;
	struct arena *arena;
	json_t *hosts;
};

static bool send(struct transport *t, struct arena *a, const struct http_request *r,
		 struct http_answer *ret, struct err *e)
{
	struct watch *w = (struct watch *)t;
	const char *host = strstr(r->url, "://");

	if (host)
		json_object_set_new(
			w->hosts,
			arena_strndup(w->arena, host + 3, strcspn(host + 3, "/?")),
			json_true());
	return w->below->send(w->below, a, r, ret, e);
}

/* Words that are the same everywhere; see partition.h. */
static const char *const words[] = {
	"sts.amazonaws.com", "sagemaker.amazonaws.com",
	"eks.amazonaws.com", "pods.eks.amazonaws.com",
	"ec2.amazonaws.com", "elasticloadbalancing.amazonaws.com",
	"vpc.amazonaws.com",
};

static bool is_host_byte(char ch)
{
	return ch == '.' || ch == '-' || (ch >= 'a' && ch <= 'z') ||
	       (ch >= '0' && ch <= '9');
}

/* The whole name of a host around a place in a text. */
static const char *around(struct arena *a, const char *text, const char *at)
{
	const char *from = at, *to = at;

	while (from > text && is_host_byte(from[-1]))
		from--;
	while (is_host_byte(*to))
		to++;
	return arena_strndup(a, from, (size_t)(to - from));
}

static bool is_word(const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (streq(name, words[i]))
			return true;
	/* Groups of Kubernetes, and the principal of HyperPod; hosts have a region. */
	return str_has_suffix(str_of(name), STR(".sagemaker.amazonaws.com"));
}

/* Of a text: its ARNs, and every name below a suffix of any partition. */
static void check_text(struct arena *a, const char *where, const char *region,
		       const char *text)
{
	const struct aws_partition *own = aws_partition_of(region), *all;
	size_t n;

	for (const char *at = text; (at = strstr(at, "arn:aws")); at++)
		cr_expect(!strncmp(at + 4, own->id, strlen(own->id)) &&
				  (at[4 + strlen(own->id)] == ':'),
			  "%s in %s: %.90s", where, region, at);
	all = aws_partitions(&n);
	for (size_t i = 0; i < n; i++)
		for (const char *at = text; (at = strstr(at, all[i].dns_suffix)); at++) {
			const char *name = around(a, text, at);

			/* The S3 gateway has the same name everywhere. */
			cr_expect(is_word(name) || str_starts(name, "com.amazonaws.") ||
					  str_has_suffix(str_of(name),
							 str_of(own->dns_suffix)),
				  "%s in %s: the host %s", where, region, name);
		}
}

struct place {
	struct lab l;
	struct operate o;
	struct watch w;
	const char *region;
};

static void run(struct place *p, const char *kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void run(struct place *p, const char *kind, const char *format, ...)
{
	char text[2048];
	va_list ap;
	struct err e;
	json_t *in;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	for (char *c = text; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	in = json_parse(&p->l.arena, str_of(text), &e);
	cr_assert_not_null(in, "%s", text);
	operate(&p->o, kind, in, 0);
	cr_assert_null(p->o.failed, "%s in %s: %s\n%s", kind, p->region, p->o.failed,
		       p->o.log ? p->o.log : "");
}

/* All that the cloud has, and has been sent. */
static void check_cloud(struct place *p, const char *when)
{
	static const char *const tables[] = {"iam.role",          "iam.oidc",
					     "eks.cluster",       "eks.addon",
					     "eks.association",   "eks.access_entry",
					     "sagemaker.cluster", "s3.bucket",
					     "cfn.stack",         "kube"};
	struct cloud *c = p->l.cloud;
	const char *host;
	json_t *v;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		check_text(&p->l.arena,
			   arena_printf(&p->l.arena, "%s, %s", when, tables[i]),
			   p->region, json_text(&p->l.arena, cloud_table(c, tables[i])));
	check_text(&p->l.arena, arena_printf(&p->l.arena, "%s, sent", when), p->region,
		   json_text(&p->l.arena, cloud_ledger(c)));
	json_object_foreach(p->w.hosts, host, v) {
		const struct aws_partition *own = aws_partition_of(p->region);

		cr_expect(str_starts(host, "127.0.0.1") ||
				  str_has_suffix(str_of(host), str_of(own->dns_suffix)),
			  "%s in %s: a request to %s", when, p->region, host);
	}
}

/* What others have installed is used: helm is no part of this (peer "charts" has the
 * charts' images in every region). */
static void put_charts(struct place *p)
{
	static const struct {
		const char *kind, *name, *ns;
	} rows[] = {
		{"DaemonSet", "health-monitoring-agent", "aws-hyperpod"},
		{"Deployment", "aws-load-balancer-controller", "kube-system"},
		{"Deployment", "kuberay-operator", "kuberay-operator"},
	};
	const char *cluster =
		json_object_iter_key(json_object_iter(cloud_table(p->l.cloud, "kube")));

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cloud_kube_put(p->l.cloud, cluster,
			       json_pack("{s:s,s:s,s:{s:s}}", "apiVersion", "v1", "kind",
					 "Namespace", "metadata", "name", rows[i].ns));
		cloud_kube_put(
			p->l.cloud, cluster,
			json_pack(
				"{s:s,s:s,s:{s:s,s:s,s:{s:s}},s:{s:{s:{s:s}},s:{s:{s:{s:s}"
				"},s:{s:[{s:s,s:s}]}}}}",
				"apiVersion", "apps/v1", "kind", rows[i].kind, "metadata",
				"name", rows[i].name, "namespace", rows[i].ns, "labels",
				"app.kubernetes.io/name", rows[i].name, "spec",
				"selector", "matchLabels", "app", rows[i].name,
				"template", "metadata", "labels", "app", rows[i].name,
				"spec", "containers", "name", "c", "image",
				"registry.example.com/c:1"));
	}
}

static void main_job(const char *region)
{
	static const char *const features[] = {"training_operator", "inference_operator",
					       "tiered_checkpointing", "autoscaling"};
	struct place p = {.region = region};

	lab_start_in(&p.l, region);
	operate_init_in(&p.o, &p.l, region);
	p.w = (struct watch){.t.send = send,
			     .below = p.o.aws.net,
			     .arena = &p.l.arena,
			     .hosts = json_new_object(&p.l.arena)};
	p.o.aws.net = &p.w.t;
	p.o.aws.credentials = aws_credentials_new(&p.l.arena, &p.w.t, &p.l.clock.clock,
						  region, operate_lookup, NULL);
	kube_init(&p.o.kube, &p.l.arena, &p.w.t, &p.o.aws, 5000);
	p.o.cfg.kubernetes_oldest = "1.28";
	p.o.where.charts =
		json_packf(&p.l.arena, "[{s:s,s:s,s:s},{s:s,s:s,s:s},{s:s,s:s,s:s}]",
			   "component", "hyperpod", "chart", "/c", "version", "1",
			   "component", "load_balancers", "chart", "/c", "version", "1",
			   "component", "kuberay", "chart", "/c", "version", "1");
	p.o.cfg.kube_image = "registry.example.com/busybox:1.37";
	cloud_configure(p.l.cloud, json_packf(&p.l.arena, "{s:{s:i,s:i,s:i,s:i}}",
					      "quota", "L-03FD2ADF", 8, "L-8762A75F", 4,
					      "L-2CE978FC", 20, "L-4C3F99F6", 8));

	run(&p, "create_eks_control_plane", "{'kubernetes_version':'1.33'}");
	put_charts(&p);
	run(&p, "reconcile_dependencies", "{}");
	run(&p, "create_hyperpod_cluster",
	    "{'hyperpod_name':'pod','zone':'%sa','instance_type':'ml.g5.12xlarge','count':2,"
	    "'capacity_type':'on_demand','group_name':'gpu','volume_size_gb':500}",
	    region);
	run(&p, "create_s3_storage",
	    "{'name':'data','namespace':'default','uid':-1,'gid':-1}");
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		run(&p, arena_printf(&p.l.arena, "set_%s", features[i]),
		    "{'hyperpod_name':'pod','feature':'%s','enabled':true}", features[i]);
	check_cloud(&p, "made");
	/* No rule is fulfilled by nothing having been made. */
	cr_expect_geq(lab_rows(&p.l, "iam.role"), 8, "%zu", lab_rows(&p.l, "iam.role"));
	cr_expect_geq(json_object_size(p.w.hosts), 7);
	run(&p, "delete_storage", "{'name':'data','namespace':'default'}");
	run(&p, "delete_cluster", "{'hyperpod_name':'pod'}");
	check_cloud(&p, "deleted");
	cr_expect_eq(lab_rows(&p.l, "eks.cluster"), 0);
	operate_free(&p.o);
	lab_stop(&p.l);
}

#define IN(name, region)                                                                 \
	Test(cloud_partitions, name)                                                     \
	{                                                                                \
		main_job(region);                                                        \
	}

IN(commercial, "eu-west-1")
IN(china, "cn-north-1")
IN(govcloud, "us-gov-west-1")
IN(iso, "us-iso-east-1")
IN(iso_b, "us-isob-east-1")
IN(iso_e, "eu-isoe-west-1")
IN(iso_f, "us-isof-south-1")
IN(eusc, "eusc-de-east-1")
