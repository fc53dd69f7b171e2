/* Steps that mount a storage, over what others left behind. */
#include "tests/unit/domain_scene.h"

#define STORE .kind = "create_s3_storage", .step
#define VOLUMES(list)                                                                    \
	"{'kubernetes:list persistentvolumes':{'items':[" list "]},"                     \
	"'kubernetes:get persistentvolumeclaims':{'metadata':{'name':'s3','uid':'u-2',"  \
	"'labels':{" MANAGED "}}}}"
#define DATA_B "{'bucket':'data-b','namespace':'team1','name':'s3'}"

#define MINE    "'name':'is-demo-team1-s3','labels':{" MANAGED "}"
#define MANAGED "'app.kubernetes.io/managed-by':'instantstart'"
#define GOING   ",'deletionTimestamp':'2026-01-02T03:04:00Z'"
#define FREED                                                                            \
	"{'metadata':{" MINE "},'spec':{'claimRef':{'uid':'u-1'},'csi':{"                \
	"'driver':'s3.csi.aws.com','volumeHandle':'is-demo-team1-s3-5620ab22',"          \
	"'volumeAttributes':{'bucketName':'data-b'}}},'status':{'phase':'Released'}}"

Test(domain_mount,
     what_is_being_deleted_is_waited_for_and_a_volume_without_its_claim_freed)
{
	static const struct scene rows[] = {
		{.id = "ST-11 volume goes",
		 STORE = "apply_volume",
		 .input = DATA_B,
		 .answers = VOLUMES("{'metadata':{" MINE GOING "}}"),
		 .says = {"wait: the volume is-demo-team1-s3 to be deleted", "!call"}},
		{.id = "ST-11 claim goes",
		 STORE = "apply_claim",
		 .input = DATA_B,
		 .answers = "{'kubernetes:get persistentvolumeclaims':{'metadata':{" MINE
			 GOING "}}}",
		 .says = {"wait: the claim s3 to be deleted", "!call"}},
		{.id = "ST-11 namespace goes",
		 STORE = "apply_namespace",
		 .input = DATA_B,
		 .answers =
			 "{'kubernetes:get namespaces':{'metadata':{'name':'team1'" GOING
			 "}}}",
		 .says = {"wait: the namespace team1 to be deleted", "!call"}},
		{.id = "ST-11 the claim was deleted by hand",
		 STORE = "apply_volume",
		 .input = DATA_B,
		 .answers = VOLUMES(FREED),
		 .says = {"call kubernetes:patch persistentvolumes: Release the volume is-demo-team1-s3 of a deleted claim",
			  "'claimRef':{", "'uid':null"}},
		{.id = "ST-11 freed, it is looked at again",
		 STORE = "apply_volume",
		 .input = DATA_B,
		 .answers = VOLUMES(FREED),
		 .answered = "{'kind':'PersistentVolume'}",
		 .says = {"goto apply_volume"}},
		{.id = "ST-11 freed late: the claim waits",
		 STORE = "wait_bound",
		 .input = DATA_B,
		 .answers = "{'kubernetes:get persistentvolumeclaims':{'status':{'phase':"
			    "'Pending'}},'kubernetes:get persistentvolumes':{'status':{"
			    "'phase':'Released'}}}",
		 .says = {"goto apply_volume"}},
	};

	SCENES_HOLD(rows);
}
