#include "tests/cloud/karpenter/karpenter.h"

#define META                                                                             \
	"'apiVersion':{'type':'string'},'kind':{'type':'string'},'metadata':{'type':'object'}"
#define STRINGS "{'type':'array','items':{'type':'string'}}"
#define ANY     "{'type':'object','x-kubernetes-preserve-unknown-fields':true}"
#define QUANTITIES                                                                       \
	"{'type':'object','additionalProperties':{'x-kubernetes-int-or-string':true}}"
#define CONDITIONS                                                                       \
	"{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':["  \
	"'type'],'items':{'type':'object','required':['type','status'],'properties':{"   \
	"'type':{'type':'string'},'status':{'type':'string','enum':['True','False',"     \
	"'Unknown']},'reason':{'type':'string'},'message':{'type':'string'},"            \
	"'observedGeneration':{'type':'integer'},'lastTransitionTime':{'type':"          \
	"'string'}}}}"
#define TAINTS                                                                           \
	"{'type':'array','items':{'type':'object','required':['key','effect'],"          \
	"'properties':{'key':{'type':'string','minLength':1},'value':{'type':'string'}," \
	"'effect':{'type':'string','enum':['NoSchedule','PreferNoSchedule',"             \
	"'NoExecute']}}}}"
#define REQUIREMENTS                                                                          \
	"{'type':'array','maxItems':100,'items':{'type':'object','required':['key',"          \
	"'operator'],'properties':{'key':{'type':'string'},'operator':{'type':"               \
	"'string','enum':['In','NotIn','Exists','DoesNotExist','Gt','Lt']},'values':" STRINGS \
	",'minValues':{'type':'integer','minimum':1,'maximum':50}}}}"
#define CLASS_REF                                                                        \
	"{'type':'object','required':['group','kind','name'],'properties':{'group':{"    \
	"'type':'string','pattern':'^[^/]*$'},'kind':{'type':'string','minLength':1},"   \
	"'name':{'type':'string','minLength':1}}}"
#define AGE_PATTERN "'^(([0-9]+(s|m|h))+|Never)$'"
/* group, kind, plural, singular, columns, schema of spec, of status */
#define DEFINITION(group, kind, plural, singular, columns, spec, status)                 \
	"{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"     \
	"'metadata':{'name':'" plural "." group "'},'spec':{'group':'" group             \
	"','names':{'kind':'" kind "','listKind':'" kind "List','plural':'" plural       \
	"','singular':'" singular "'},'scope':'Cluster','versions':[{'name':'v1',"       \
	"'served':true,'storage':true,'subresources':{'status':{}},"                     \
	"'additionalPrinterColumns':[" columns                                           \
	"{'name':'Ready','type':'string','jsonPath':'.status.conditions[?(@.type=="      \
	"\\\"Ready\\\")].status'},{'name':'Age','type':'date','jsonPath':"               \
	"'.metadata.creationTimestamp'}],'schema':{'openAPIV3Schema':{'type':'object',"  \
	"'required':['spec'],'properties':{" META ",'spec':" spec ",'status':" status    \
	"}}}}]}}"

static const char class_definition[] = DEFINITION(
	"karpenter.sagemaker.amazonaws.com", "HyperpodNodeClass", "hyperpodnodeclasses",
	"hyperpodnodeclass", "",
	"{'type':'object','required':['instanceGroups'],'properties':{'instanceGroups':{"
	"'type':'array','minItems':1,'maxItems':10,'items':{'type':'string','minLength':"
	"1,'maxLength':63}}}}",
	"{'type':'object','properties':{'conditions':" CONDITIONS
	",'instanceGroups':{'type':'array','items':{'type':'object','properties':{'name':"
	"{'type':'string'},'instanceTypes':" STRINGS
	",'subnets':{'type':'array','items':{'type':'object','properties':{'id':{'type':"
	"'string'},'zone':{'type':'string'},'zoneId':{'type':'string'}}}},"
	"'desiredLabels':{'type':'array','items':{'type':'object','properties':{'key':{"
	"'type':'string'},'value':{'type':'string'}}}},'capacities':" ANY "}}}}}");

static const char pool_definition[] = DEFINITION(
	"karpenter.sh", "NodePool", "nodepools", "nodepool",
	"{'name':'NodeClass','type':'string','jsonPath':"
	"'.spec.template.spec.nodeClassRef.name'},{'name':'Nodes','type':'string',"
	"'jsonPath':'.status.nodes'},",
	"{'type':'object','required':['template'],'properties':{'weight':{'type':"
	"'integer','minimum':1,'maximum':100},'limits':" QUANTITIES
	",'disruption':{'type':'object','properties':{'consolidateAfter':{'type':"
	"'string','pattern':" AGE_PATTERN
	",'default':'0s'},'consolidationPolicy':{'type':'string','enum':['WhenEmpty',"
	"'WhenEmptyOrUnderutilized'],'default':'WhenEmptyOrUnderutilized'},'budgets':{"
	"'type':'array','items':" ANY "}}},"
	"'template':{'type':'object','required':['spec'],'properties':{'metadata':{"
	"'type':'object','properties':{'labels':{'type':'object','additionalProperties':{"
	"'type':'string'}},'annotations':{'type':'object','additionalProperties':{'type':"
	"'string'}}}},'spec':{'type':'object','required':['nodeClassRef','requirements'],"
	"'properties':{'nodeClassRef':" CLASS_REF ",'requirements':" REQUIREMENTS
	",'taints':" TAINTS ",'startupTaints':" TAINTS
	",'expireAfter':{'type':'string','pattern':" AGE_PATTERN
	",'default':'720h'},'terminationGracePeriod':{'type':'string','pattern':" AGE_PATTERN
	"}}}}}}}",
	"{'type':'object','properties':{'conditions':" CONDITIONS
	",'resources':" QUANTITIES ",'nodes':{'type':'integer'}}}");

static const char claim_definition[] = DEFINITION(
	"karpenter.sh", "NodeClaim", "nodeclaims", "nodeclaim",
	"{'name':'Type','type':'string','jsonPath':"
	"'.metadata.labels.node\\\\.kubernetes\\\\.io/instance-type'},{'name':'Node',"
	"'type':'string','jsonPath':'.status.nodeName'},",
	"{'type':'object','required':['nodeClassRef','requirements'],'properties':{"
	"'nodeClassRef':" CLASS_REF ",'requirements':" REQUIREMENTS
	",'resources':{'type':'object','properties':{'requests':" QUANTITIES "}}"
	",'taints':" TAINTS ",'startupTaints':" TAINTS
	",'expireAfter':{'type':'string','pattern':" AGE_PATTERN
	"},'terminationGracePeriod':{'type':'string'}}}",
	"{'type':'object','properties':{'conditions':" CONDITIONS
	",'nodeName':{'type':'string'},'providerID':{'type':'string'},'imageID':{'type':"
	"'string'},'capacity':" QUANTITIES ",'allocatable':" QUANTITIES "}}");

const char *const karp_definitions[] = {class_definition, pool_definition,
					claim_definition, NULL};

static json_t *tree_of(struct arena *a, const char *text)
{
	char *z = arena_strdup(a, text);
	struct err e = {0};
	json_t *t;

	for (char *p = z; *p; p++)
		if (*p == '\'')
			*p = '"';
	t = json_parse(a, str_of(z), &e);
	return t ? t : json_new_object(a);
}

void karpenter_install(struct cloud *c, const char *eks)
{
	struct arena a;

	arena_init(&a, 0);
	for (size_t i = 0; karp_definitions[i]; i++)
		cloud_kube_put(c, eks, json_deep_copy(tree_of(&a, karp_definitions[i])));
	arena_free(&a);
}

/* With its definitions go the objects: what is left has no keeper. */
void karpenter_uninstall(struct cloud *c, const char *eks)
{
	static const char *const names[] = {
		"hyperpodnodeclasses.karpenter.sagemaker.amazonaws.com",
		"nodepools.karpenter.sh", "nodeclaims.karpenter.sh"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cloud_kube_remove(c, eks, "apiextensions.k8s.io/v1",
				  "customresourcedefinitions", NULL, names[i]);
}
