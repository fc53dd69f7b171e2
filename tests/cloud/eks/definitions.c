/*
 * Kinds that add-ons bring. The schemas have the required members and types of the
 * published ones; below them anything goes.
 */
#include "tests/cloud/eks/operator.h"

#define ANY   "{'type':'object','x-kubernetes-preserve-unknown-fields':true}"
#define TEXT  "{'type':'string'}"
#define COUNT "{'type':'integer','format':'int32','minimum':0}"
#define SCALE                                                                            \
	",'scale':{'specReplicasPath':'.spec.replicas','statusReplicasPath':"            \
	"'.status.replicas','labelSelectorPath':'.status.selector'}"
#define VERSION(name, storage, more, spec)                                               \
	"{'name':'" name "','served':true,'storage':" storage                            \
	",'subresources':{'status':{}" more "},'schema':{'openAPIV3Schema':{'type':"     \
	"'object','properties':{'apiVersion':" TEXT ",'kind':" TEXT                      \
	",'metadata':{'type':'object'},'spec':" spec ",'status':" ANY "}}}}"
#define DEFINITION(group, kind, plural, singular, scope, versions)                       \
	"{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"     \
	"'metadata':{'name':'" plural "." group "'},'spec':{'group':'" group             \
	"','names':{'kind':'" kind "','listKind':'" kind "List','plural':'" plural       \
	"','singular':'" singular "'},'scope':'" scope "','versions':[" versions "]}}"
#define SPEC(required, properties)                                                           \
	"{'type':'object','x-kubernetes-preserve-unknown-fields':true,'required':[" required \
	"],'properties':{" properties "}}"

#define ENDPOINT                                                                          \
	SPEC("'modelName','modelSourceConfig','worker'",                                  \
	     "'modelName':" TEXT ",'replicas':" COUNT ",'modelSourceConfig':{'type':"     \
	     "'object','x-kubernetes-preserve-unknown-fields':true,'required':["          \
	     "'modelSourceType'],'properties':{'modelSourceType':" TEXT                   \
	     "}},'worker':{'type':'object','x-kubernetes-preserve-unknown-fields':true,"  \
	     "'required':['image','modelInvocationPort','modelVolumeMount','resources']," \
	     "'properties':{'image':" TEXT "}}")
#define JUMPSTART                                                                        \
	SPEC("'model','server'",                                                         \
	     "'replicas':" COUNT ",'model':{'type':'object','required':['acceptEula',"   \
	     "'modelId'],'x-kubernetes-preserve-unknown-fields':true,'properties':{"     \
	     "'modelId':" TEXT ",'acceptEula':{'type':'boolean'}}},'server':{'type':"    \
	     "'object','required':['instanceType'],"                                     \
	     "'x-kubernetes-preserve-unknown-fields':true,'properties':{"                \
	     "'instanceType':" TEXT "}}")
#define JOB                                                                              \
	SPEC("",                                                                         \
	     "'nprocPerNode':{'type':'string','default':'auto'},'runPolicy':" ANY        \
	     ",'elasticPolicy':" ANY ",'replicaSpecs':{'type':'array','items':{"         \
	     "'type':'object','required':['name'],"                                      \
	     "'x-kubernetes-preserve-unknown-fields':true,'properties':{'name':" TEXT    \
	     ",'replicas':" COUNT ",'template':" ANY "}}}")
#define SCALED                                                                           \
	SPEC("'scaleTargetRef','triggers'",                                              \
	     "'scaleTargetRef':{'type':'object','required':['name'],"                    \
	     "'x-kubernetes-preserve-unknown-fields':true,'properties':{'name':" TEXT    \
	     "}},'triggers':{'type':'array','items':" ANY "}")
#define INFERENCE "inference.sagemaker.aws.amazon.com"

static const char *const for_certificates[] = {
	DEFINITION("cert-manager.io", "Certificate", "certificates", "certificate",
		   "Namespaced", VERSION("v1", "true", "", ANY)),
	DEFINITION("cert-manager.io", "Issuer", "issuers", "issuer", "Namespaced",
		   VERSION("v1", "true", "", ANY)),
	DEFINITION("cert-manager.io", "ClusterIssuer", "clusterissuers", "clusterissuer",
		   "Cluster", VERSION("v1", "true", "", ANY)),
	NULL,
};
static const char *const for_training[] = {
	DEFINITION("sagemaker.amazonaws.com", "HyperPodPyTorchJob", "hyperpodpytorchjobs",
		   "hyperpodpytorchjob", "Namespaced", VERSION("v1", "true", "", JOB)),
	NULL,
};
static const char *const for_inference[] = {
	DEFINITION(INFERENCE, "InferenceEndpointConfig", "inferenceendpointconfigs",
		   "inferenceendpointconfig", "Namespaced",
		   VERSION("v1", "true", SCALE, ENDPOINT) "," VERSION("v1alpha1", "false",
								      SCALE, ENDPOINT)),
	DEFINITION(INFERENCE, "JumpStartModel", "jumpstartmodels", "jumpstartmodel",
		   "Namespaced",
		   VERSION("v1", "true", SCALE,
			   JUMPSTART) "," VERSION("v1alpha1", "false", SCALE, JUMPSTART)),
	DEFINITION(
		INFERENCE, "SageMakerEndpointRegistration",
		"sagemakerendpointregistrations", "sagemakerendpointregistration",
		"Namespaced",
		VERSION("v1", "true", "", ANY) "," VERSION("v1alpha1", "false", "", ANY)),
	DEFINITION("keda.sh", "ScaledObject", "scaledobjects", "scaledobject",
		   "Namespaced", VERSION("v1alpha1", "true", "", SCALED)),
	DEFINITION("keda.sh", "TriggerAuthentication", "triggerauthentications",
		   "triggerauthentication", "Namespaced",
		   VERSION("v1alpha1", "true", "", ANY)),
	NULL,
};

const char *const *operator_definitions(const char *addon)
{
	if (streq(addon, "cert-manager"))
		return for_certificates;
	if (streq(addon, "amazon-sagemaker-hyperpod-training-operator"))
		return for_training;
	if (streq(addon, "amazon-sagemaker-hyperpod-inference"))
		return for_inference;
	return NULL;
}
