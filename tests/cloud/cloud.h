/*
 * cloud.h - the simulated cloud: a library that answers as AWS and Kubernetes do.
 *
 * Used in process (cloud_transport) by fault tests on a virtual clock, and as
 * a server (main.c, libmicrohttpd, HTTP and TLS) by end-to-end tests, the demo,
 * and official clients. Never linked into the product.
 *
 * State is jansson trees in named tables ("eks.cluster" -> id -> object), so
 * that it can be dumped, compared and stored. Time comes from the clock it was
 * made with; life cycles advance in cloud_advance(), which runs before every
 * request, so that a test which moves the clock sees every state in between.
 *
 * Strictness comes from the published API models: the front decodes and checks
 * required members, enums, lengths and patterns, verifies SigV4, and encodes
 * answers for the wire protocol; service handlers see model member names only.
 *
 * Single-threaded: the server serialises requests.
 */
#ifndef INSTANTSTART_TESTS_CLOUD_H
#define INSTANTSTART_TESTS_CLOUD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/net/transport.h"

struct cloud;

struct cloud_options {
	struct clock *clock;
	uint64_t seed;       /* of ids and seeded faults */
	const char *account; /* "123456789012" */
	const char *region;  /* "us-west-2"; tells the partition */
	const char *models;  /* file of pruned API models made by tests/cloud/models */
	const char *access_key, *secret_key; /* the root caller that SigV4 knows */
	const char *caller_arn;              /* of that caller */
	int64_t list_lag_ms; /* how long lists and filters miss a new object */
	int speed; /* life cycles run so many times faster; 1 = real durations */
	/* Base URL under which Kubernetes API servers are reached:
	 * "https://127.0.0.1:4567"; a cluster's endpoint is BASE/k8s/<id>. */
	const char *kube_base_url;
	const char *kube_ca_pem;
};

struct cloud *cloud_new(const struct cloud_options *o);
void cloud_free(struct cloud *c);
struct clock *cloud_clock(struct cloud *c);
const struct cloud_options *cloud_opts(struct cloud *c);

/* --- names, by the partition of the region (arn.c) ------------------------ */

const char *cloud_partition(struct cloud *c);  /* "aws-cn" */
const char *cloud_dns_suffix(struct cloud *c); /* "amazonaws.com.cn" */
/* "arn:PARTITION:SERVICE:REGION:ACCOUNT:REST"; without the region; of AWS's own. */
const char *cloud_arn(struct cloud *c, struct arena *a, const char *service,
		      const char *rest);
const char *cloud_arn_global(struct cloud *c, struct arena *a, const char *service,
			     const char *rest);
const char *cloud_arn_of_aws(struct cloud *c, struct arena *a, const char *service,
			     const char *rest);
/* Whether it is one of that service in this partition. */
bool cloud_arn_is(struct cloud *c, const char *arn, const char *service);

/* --- the wire ---------------------------------------------------------- */

struct cloud_request {
	const char *method;
	const char *host;                 /* Host header, with port */
	const char *target;               /* path and query as received */
	const struct http_header *header; /* names in any case */
	size_t n_headers;
	const char *body;
	size_t body_len;
};

enum cloud_fate { FATE_ANSWER, FATE_LOSE_REQUEST, FATE_LOSE_ANSWER, FATE_HANG };

struct cloud_response {
	enum cloud_fate fate; /* what a fault script made of the exchange */
	int status;
	struct http_header header[16];
	size_t n_headers;
	const char *body; /* in the arena given to cloud_handle */
	size_t body_len;
	/* A watch or a followed log: more() gives the next piece, or n = 0 when
	 * there is none now; false ends the stream. NULL: a plain answer. */
	bool (*more)(void *ctx, struct arena *a, const char **ret_p, size_t *ret_n);
	void (*more_end)(void *ctx);
	void *more_ctx;
};

/* Advances life cycles, applies fault scripts, serves AWS and /k8s/… alike. */
void cloud_handle(struct cloud *c, struct arena *a, const struct cloud_request *req,
		  struct cloud_response *ret);
/* A transport that hands requests to cloud_handle in process. Lives as long
 * as the cloud. FATE_LOSE_ANSWER and FATE_HANG end NET_AMBIGUOUS. */
struct transport *cloud_transport(struct cloud *c);
void cloud_advance(struct cloud *c);

/* --- ledger ------------------------------------------------------------ */

/*
 * Every mutation that arrived, in order: {seq, at_ms, via:"aws"|"kube",
 * service, op, caller, token, digest, input, outcome:"ok"|code, effects:[
 * {type, id, change:"create"|"update"|"delete"}], answer_lost}. `effects` is
 * empty when the state did not change (a token replay, an equal apply).
 */
const json_t *cloud_ledger(struct cloud *c);
/*
 * Opens the entry of a mutation that has arrived; cloud_effect() adds to the
 * innermost open one. The front does this for AWS calls; the Kubernetes side
 * does it for its own. `input` is borrowed and copied; token may be NULL.
 */
json_t *cloud_ledger_open(struct cloud *c, const char *via, const char *service,
			  const char *op, const char *caller, const char *token,
			  const json_t *input);
/* outcome: "ok" or an error code. */
void cloud_ledger_close(struct cloud *c, const char *outcome);
/* The whole state: {table: {id: object}}; borrowed. */
const json_t *cloud_state(struct cloud *c);
/*
 * A copy of the state, the settings and what ids and chances are drawn from, to
 * go back to as often as wanted. The caller owns it. Going back begins a new
 * ledger and forgets fault rules.
 */
json_t *cloud_save(struct cloud *c);
void cloud_restore(struct cloud *c, const json_t *saved);

/* --- faults ------------------------------------------------------------ */

/*
 * Adds a rule; JSON: {"service":"eks","op":"CreateCluster","kube":"apply
 * persistentvolumes", "skip":0,"times":1, "probability":1.0, "fault":
 * "throttle"|"error"|"lose_request"|"lose_answer"|"hang"|"garbage"|"expired"|
 * "denied"|"big", "status":400,"code":"…","message":"…","for_ms":0}.
 * Missing match members match everything; "mutating":true matches mutations.
 * for_ms: active for so long from now instead of `times`.
 */
bool cloud_add_fault(struct cloud *c, const json_t *rule);
void cloud_clear_faults(struct cloud *c);
/*
 * The first active rule that matches, consuming one of its times; NULL: none.
 * AWS calls give service and op; the Kubernetes side gives `kube`, a text such
 * as "apply persistentvolumes" that rules match as a prefix. Borrowed until
 * the next call.
 */
const json_t *cloud_take_fault(struct cloud *c, const char *service, const char *op,
			       const char *kube, bool mutating);
/*
 * Named world settings: {"capacity":{"ml.p5.48xlarge":0}, "quota":{"L-…":4},
 * "lifecycle_script":"fail", "stack_failure":{"LogicalId":"reason"},
 * "role_assumable_after_ms":…, "node_ready_after_ms":…, "eks_unsupported_zones":
 * ["us-west-2b"], "training_plans":{name: DescribeTrainingPlan's members},
 * "hyperpod_others":{name: DescribeCluster's members, or "_denied": true},
 * "autoscaling_failure": the text with which autoscaling ends Failed}.
 * Merged (RFC 7396).
 * "hidden_ms": {"iam": 20000} hides from every read of a service, by name too, what is
 * younger. Also "list_lag_ms", "speed", "offerings":{"p5.48xlarge":["usw2-az1"]},
 * "foreign_buckets":["taken-name"] (of another account), "bucket_regions":
 * {name: region} (where a bucket is that is not here), "denied_actions":["ec2:CreateVpc"]
 * (what SimulatePrincipalPolicy denies), "boundary_denied" and "scp_denied" (the same by
 * a permissions boundary and by the organization), "type_facts": {"g5.xlarge": what
 * DescribeInstanceTypes says of it otherwise, RFC 7396}, "version_facts":
 * {"1.34": what DescribeClusterVersions says otherwise, RFC 7396}, "addon_architectures":
 * {"coredns": ["amd64"]} (what DescribeAddonVersions says otherwise),
 * "balancers_left": true (groups of load balancers
 * outlive them), "node_errors": {id: {"code", "times"}} of the batch calls, "keys":
 * {access key: secret} of the same caller, "policies": {access key: policy document} that
 * binds calls signed with that key (see authorize.h), "node_faults": {id: {"type",
 * "reason", "action"}}: see sagemaker/health.c.
 */
void cloud_configure(struct cloud *c, const json_t *settings);
const json_t *cloud_settings(struct cloud *c);

/* --- for services ------------------------------------------------------ */

struct cloud_call {
	struct cloud *cloud;
	struct arena *arena; /* of this request */
	const char *service; /* "eks" */
	const char *op;      /* "CreateCluster" */
	const json_t *in;    /* decoded and checked, model member names */
	const char *caller_arn;
	int64_t now_ms;
	/* Set by cloud_fault(). */
	const char *fault_code;
	const char *fault_message;
	int fault_status; /* 0: by the model, else 400 */
	json_t *fault_members;
	const char *bucket_region; /* S3: header of the fault; NULL: none */
};

/*
 * Values in `in` and in handlers' answers: times are numbers of seconds since
 * the epoch (cloud_seconds()), fractions allowed, whatever the wire says;
 * blobs are strings, or {"$base64": "…"} when they are not UTF-8. In answers
 * members that begin with "_" and nulls are left out; any other member that
 * the model does not know is a bug of the handler and answers 500.
 */
json_t *cloud_seconds(int64_t wall_ms);

/* false: cloud_fault() was called. *ret_out: model member names; may stay NULL. */
typedef bool cloud_handler(struct cloud_call *c, json_t **ret_out);

struct cloud_op {
	const char *name;
	bool mutates;
	cloud_handler *handle;
};

struct cloud_service {
	const char *id;             /* key in the models file */
	const struct cloud_op *ops; /* ended by a row without a name */
	/* Moves life cycles on to `now`; may be NULL. */
	void (*advance)(struct cloud *c, int64_t now_ms);
};

/* Registered in services.c. */
extern const struct cloud_service cloud_sts, cloud_iam, cloud_ec2, cloud_cloudformation,
	cloud_eks, cloud_sagemaker, cloud_s3, cloud_service_quotas, cloud_logs, cloud_elb;

bool cloud_fault(struct cloud_call *c, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Tables: objects keyed by id, kept in insertion order. Borrowed. */
json_t *cloud_table(struct cloud *c, const char *table);
json_t *cloud_get(struct cloud *c, const char *table, const char *id);
/* Steals the object; stamps "_created_ms" on a new one. */
json_t *cloud_put(struct cloud *c, const char *table, const char *id, json_t *obj);
void cloud_delete(struct cloud *c, const char *table, const char *id);
/* Whether a list or filter shows it already (list_lag_ms after creation). */
bool cloud_listed(struct cloud *c, const json_t *obj);
/* Records a change of state in the ledger entry of the call. */
void cloud_effect(struct cloud *c, const char *type, const char *id, const char *change);

/*
 * Who presented this EKS bearer token ("k8s-aws-v1.…"): the signature, the age
 * (15 minutes) and the cluster name in it are verified. The first form takes a
 * token for any cluster of the account. *ret_arn lives as long as the cloud.
 */
bool cloud_verify_eks_token(struct cloud *c, const char *token, const char **ret_arn);
bool cloud_verify_eks_token_of(struct cloud *c, const char *cluster_name,
			       const char *token, const char **ret_arn);
/*
 * Signatures and tokens are checked against this clock; the cloud's own unless
 * set. The server sets the system's, so that moving its clock on does not
 * expire what clients sign.
 */
void cloud_set_auth_clock(struct cloud *c, struct clock *clock);

/*
 * One page of `all` (a new list; both are owned by the arena). token: NULL for
 * the first page; max 0: no limit. *ret_next: NULL when it is the last one.
 * NULL: the token is not one of ours; the caller has its own word for that.
 */
json_t *cloud_page(struct cloud_call *call, json_t *all, const char *token, int64_t max,
		   const char **ret_next);

/* "vpc-0123456789abcdef0" from ("vpc-", 17); deterministic by seed. */
const char *cloud_id(struct cloud *c, struct arena *a, const char *prefix, int hex);
/* Duration scaled by speed. */
int64_t cloud_ms(struct cloud *c, int64_t real_ms);
/* Calls another service's handler in process (CloudFormation does). The input
 * is checked by the model; the caller is `as`, or the present one if NULL. */
bool cloud_invoke(struct cloud *c, struct arena *a, const char *service, const char *op,
		  const json_t *in, const char *as, json_t **ret_out,
		  const char **ret_code, const char **ret_message);

/* The key that signed the request which is served now; NULL: none. */
const char *cloud_acting(struct cloud *c);
/* NULL: that key's policy (settings.policies) allows the call; else the refusal. */
const char *cloud_may(struct cloud *c, struct arena *a, const char *access_key,
		      const char *caller_arn, const char *service, const char *op,
		      const json_t *in);

/* Groups and nodes at once, by {cluster, groups, nodes, type, pods}: fleet.c. */
bool cloud_fleet(struct cloud *c, struct arena *a, const json_t *body);

/* Kubernetes (kube/): one API server per EKS cluster, made by the EKS service. */
void cloud_kube_create(struct cloud *c, const char *cluster_name, const char *id);
void cloud_kube_destroy(struct cloud *c, const char *cluster_name);
/* The stored object, or NULL; ns NULL for cluster scope. Borrowed. */
json_t *cloud_kube_get(struct cloud *c, const char *cluster_name, const char *api,
		       const char *plural, const char *ns, const char *name);
/* Why a new object of the kind would be refused by a webhook that does not answer;
 * NULL: it would not. */
const char *cloud_kube_silent(struct cloud *c, struct arena *a, const char *cluster_name,
			      const char *api, const char *plural, const char *ns);
/* Creates or replaces as the system would; bumps resourceVersion, feeds watches. */
void cloud_kube_put(struct cloud *c, const char *cluster_name, json_t *object);
void cloud_kube_remove(struct cloud *c, const char *cluster_name, const char *api,
		       const char *plural, const char *ns, const char *name);
/* Moves jobs, pods, claims, releases on. */
void cloud_kube_advance(struct cloud *c, int64_t now_ms);
/* Called by the front for targets that begin with /k8s/. */
void cloud_kube_handle(struct cloud *c, struct arena *a, const struct cloud_request *req,
		       struct cloud_response *ret);

#endif
