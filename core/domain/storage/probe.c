/*
 * probe.c - a mount is proven by using it.
 *
 * A Job on the cluster writes, reads and removes one object through the claim.
 * When it does not succeed, the cause is looked for where it shows: the pod's
 * waiting reason, the newest warning event, the last lines of its log.
 */
#include "core/domain/step/eks_access.h"
#include "core/domain/step/held.h"
#include "core/domain/step/kube_delete.h"
#include "core/domain/step/object.h"
#include "core/domain/step/read.h"
#include "core/domain/storage/storage.h"
#include "core/json/tree.h"

static struct kube_request job_request(struct step_ctx *c, enum kube_verb verb)
{
	return (struct kube_request){.verb = verb,
				     .api = "batch/v1",
				     .plural = "jobs",
				     .ns = storage_namespace(c),
				     .name = storage_probe(c)};
}

bool probe_observe(struct step_ctx *c, struct exchange *x)
{
	struct kube_request r = job_request(c, KUBE_GET);

	return read_kube(c, x, "job", &r);
}

/* A job of an earlier operation proves an earlier mount. */
static bool is_of_this_operation(const struct step_ctx *c, const json_t *job)
{
	return streq(
		json_string_value(json_object_get(json_at(job, "metadata.annotations"),
						  "instantstart/operation")),
		c->op_id);
}

/* True: somebody else's, and the step has failed. */
static bool is_foreign(struct step_ctx *c, const json_t *job)
{
	struct err *e;

	if (!job || object_is_ours(c, job, STORAGE_JOB_TYPE))
		return false;
	e = step_fail(c, ERR_FOREIGN_OBJECT,
		      "A job named %s/%s exists and does not belong to InstantStart",
		      storage_namespace(c), storage_probe(c));
	object_tell_owner(c, e, job, STORAGE_JOB_TYPE);
	err_fix(e,
		"Choose another name or namespace for the storage, or delete the job if it is no longer needed.");
	return true;
}

void probe_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *job = saw(c, "job");
	struct kube_request r = job_request(c, KUBE_CREATE);
	struct kube_target t;
	json_t *body;

	if (job && is_of_this_operation(c, job) &&
	    !json_at(job, "metadata.deletionTimestamp")) {
		step_own(c, "kubernetes:job",
			 arena_printf(c->arena, "%s/%s", storage_namespace(c),
				      storage_probe(c)),
			 NULL, "made");
		return;
	}
	if (is_foreign(c, job))
		return;
	if (job) {
		step_goto(c, "clear_probe");
		return;
	}
	body = storage_probe_object(c);
	json_put(body, "metadata.annotations",
		 json_pack("{s:s}", "instantstart/operation", c->op_id));
	r.body = body;
	eks_target(c, &t);
	exchange_kube(x, &t, &r);
	x->what = arena_printf(c->arena, "Run the job %s/%s against the mount",
			       storage_namespace(c), storage_probe(c));
}

void probe_absorb(struct step_ctx *c, const struct answer *a)
{
	if (answer_is(a, "AlreadyExists")) {
		step_wait(c, 2, "the existing job %s to be checked", storage_probe(c));
		return;
	}
	if (!a->ok) {
		step_fail_answer(c, a, "the verification job was rejected: %s",
				 a->message);
		return;
	}
	step_own(c, "kubernetes:job",
		 arena_printf(c->arena, "%s/%s", storage_namespace(c), storage_probe(c)),
		 NULL, "made");
	step_advance(c);
}

/* --- what became of it ---------------------------------------------------------- */

static const json_t *condition(const json_t *job, const char *type)
{
	return json_find(json_at(job, "status.conditions"), "type", type);
}

static bool job_has(const json_t *job, const char *type)
{
	return streq(json_str_or(condition(job, type), "status", ""), "True");
}

static bool read_pods(struct step_ctx *c, struct exchange *x)
{
	return read_kube(c, x, "pods",
			 &(struct kube_request){
				 .verb = KUBE_LIST,
				 .api = "v1",
				 .plural = "pods",
				 .ns = storage_namespace(c),
				 .label_selector = arena_printf(c->arena, "job-name=%s",
								storage_probe(c))});
}

static bool read_events(struct step_ctx *c, struct exchange *x, const char *pod)
{
	return read_kube(
		c, x, "events",
		&(struct kube_request){
			.verb = KUBE_LIST,
			.api = "v1",
			.plural = "events",
			.ns = storage_namespace(c),
			.field_selector = arena_printf(
				c->arena, "involvedObject.name=%s,type=Warning", pod)});
}

/*
 * The driver mounts in a pod of its own beside the first pod of a node (case
 * ST-07): when that one does not fit, the user's pod only says it waits.
 */
static bool read_helpers(struct step_ctx *c, struct exchange *x)
{
	return read_kube(
		c, x, "helpers",
		&(struct kube_request){.verb = KUBE_LIST,
				       .api = "v1",
				       .plural = "pods",
				       .ns = "mount-s3",
				       .label_selector = arena_printf(
					       c->arena, "s3.csi.aws.com/volume-name=%s",
					       storage_volume(c))});
}

bool probe_wait_observe(struct step_ctx *c, struct exchange *x)
{
	struct kube_request r = job_request(c, KUBE_GET);
	const char *pod;

	if (read_kube(c, x, "job", &r))
		return true;
	if (!saw_ok(c, "job") || job_has(saw(c, "job"), "Complete"))
		return false;
	if (read_pods(c, x))
		return true;
	pod = json_str_at(saw(c, "pods"), "items.0.metadata.name");
	if (!pod)
		return false;
	if (read_events(c, x, pod) || read_helpers(c, x))
		return true;
	return job_has(saw(c, "job"), "Failed") &&
	       read_kube(c, x, "log",
			 &(struct kube_request){.verb = KUBE_LOG,
						.api = "v1",
						.plural = "pods",
						.ns = storage_namespace(c),
						.name = pod,
						.container = "probe",
						.tail_lines = 5,
						.limit_bytes = 2000});
}

static const char *newest_warning(struct step_ctx *c)
{
	const json_t *items = json_at(saw(c, "events"), "items");
	size_t n = json_array_size(items);

	return n ? json_str_at(json_array_get(items, n - 1), "message") : NULL;
}

static const char *waiting_reason(struct step_ctx *c)
{
	const json_t *pod = json_at(saw(c, "pods"), "items.0");

	return json_str_or(pod, "status.containerStatuses.0.state.waiting.reason",
			   json_str_or(pod, "status.phase", "no pod yet"));
}

/* Why a mount helper has no node, in the scheduler's words; NULL: none waits. */
static const char *helper_trouble(struct step_ctx *c)
{
	size_t i;
	json_t *pod;

	json_array_foreach(json_at(saw(c, "helpers"), "items"), i, pod) {
		const json_t *placed = json_find(json_at(pod, "status.conditions"),
						 "type", "PodScheduled");

		if (streq(json_str_or(placed, "status", ""), "False"))
			return arena_printf(
				c->arena, "the mount helper %s cannot be scheduled: %s",
				json_str_or(pod, "metadata.name", "?"),
				json_str_or(placed, "message", "no reason given"));
	}
	return NULL;
}

static void probe_failed(struct step_ctx *c)
{
	const char *why = helper_trouble(c) ? helper_trouble(c) : newest_warning(c);
	const char *log = saw_text(c, "log");
	struct err *e =
		step_fail(c, ERR_STORAGE_FAILED,
			  "The mount of the bucket %s does not work", storage_bucket(c));

	if (log && log[0])
		err_because(e, "log of the probe", "", log, NULL);
	if (why)
		err_because(e, "kubernetes event", "", why, NULL);
	err_because(e, "kubernetes job",
		    json_str_at(condition(saw(c, "job"), "Failed"), "reason"),
		    json_str_at(condition(saw(c, "job"), "Failed"), "message"), NULL);
	if (helper_trouble(c))
		err_fix(e, "Free a pod slot and memory on the node, or add nodes, then "
			   "retry. The bucket is not the cause.");
	else
		err_fix(e,
			"Check that the driver's role can use the bucket and that nodes "
			"can reach S3, then retry.");
}

void probe_wait_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *job = saw(c, "job");
	const char *why;

	(void)x;
	if (c->planning)
		return;
	if (saw_missing(c, "job")) {
		step_goto(c, "probe"); /* somebody removed it */
		return;
	}
	if (job_has(job, "Complete"))
		return;
	if (job_has(job, "Failed")) {
		probe_failed(c);
		return;
	}
	why = helper_trouble(c) ? helper_trouble(c) : newest_warning(c);
	step_wait(c, 5, "the verification job of %s (%s)%s%s", storage_name(c),
		  waiting_reason(c), why ? ": " : "", why ? why : "");
}

/* --- removed ------------------------------------------------------------------------ */

/* A job that failed, or that proved an earlier mount, makes room for ours. */
void probe_clear_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *job = saw(c, "job");

	if (is_foreign(c, job))
		return;
	if (job && (!is_of_this_operation(c, job) || job_has(job, "Failed")))
		probe_remove_plan(c, x);
}

void probe_remove_plan(struct step_ctx *c, struct exchange *x)
{
	const json_t *job = saw(c, "job");

	if (!job) {
		step_own(c, "kubernetes:job",
			 arena_printf(c->arena, "%s/%s", storage_namespace(c),
				      storage_probe(c)),
			 NULL, "gone");
		return;
	}
	if (is_foreign(c, job))
		return;
	if (json_at(job, "metadata.deletionTimestamp")) {
		step_wait(c, 2, "the job %s to be deleted%s", storage_probe(c),
			  held_text(c->arena, job));
		return;
	}
	kube_delete(c, x, job_request(c, KUBE_DELETE), job, KUBE_SEEN_CONTENT);
	x->what = arena_printf(c->arena, "Delete the job %s/%s", storage_namespace(c),
			       storage_probe(c));
}

void probe_remove_absorb(struct step_ctx *c, const struct answer *a)
{
	if (kube_delete_was_another(c, a))
		return;
	if (!a->ok && a->errc != ERR_CLOUD_NOT_FOUND)
		step_fail_answer(c, a, "the job %s could not be deleted",
				 storage_probe(c));
	else
		step_wait(c, 2, "the job %s to be deleted", storage_probe(c));
}
