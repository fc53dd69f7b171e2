// Whether an IAM policy allows what was asked: the part of IAM's rules that our
// policy uses. An operation that is not understood here is not allowed.
const glob = (pattern, text) => new RegExp(`^${pattern.split('*').map(s =>
	s.replace(/[.+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`).test(text);
const list = v => Array.isArray(v) ? v : [v];

function conditions(statement, context)
{
	return Object.entries(statement.Condition ?? {}).every(([operator, keys]) =>
		Object.entries(keys).every(([key, wanted]) => {
			const have = context[key];

			if (operator === 'Null')
				return list(wanted).includes(String(have === undefined));
			if (operator === 'StringEquals')
				return have !== undefined && list(wanted).includes(have);
			return false;
		}));
}

export function allows(policy, action, resource, context = {})
{
	return policy.Statement.some(s => s.Effect === 'Allow' &&
		list(s.Action).some(a => glob(a.toLowerCase(), action.toLowerCase())) &&
		list(s.Resource).some(r => glob(r, resource)) && conditions(s, context));
}

/* --- what a request needs: actions, each with its resource and context ------------------ */

const ACCOUNT = '123456789012';
const arn = (service, rest, region = 'us-west-2', account = ACCOUNT) =>
	`arn:aws:${service}:${region}:${account}:${rest}`;
const role = name => arn('iam', `role/${name}`, '');
const S3 = {HeadBucket: 'ListBucket', ListObjectsV2: 'ListBucket', HeadObject: 'GetObject',
	PutPublicAccessBlock: 'PutBucketPublicAccessBlock',
	GetPublicAccessBlock: 'GetBucketPublicAccessBlock', ListBuckets: 'ListAllMyBuckets',
	PutBucketEncryption: 'PutEncryptionConfiguration', DeleteObjects: 'DeleteObject',
	ListObjectVersions: 'ListBucketVersions',
	ListMultipartUploads: 'ListBucketMultipartUploads',
	GetObjectLockConfiguration: 'GetBucketObjectLockConfiguration'};
const SERVICES = {elbv2: 'elasticloadbalancing', 'service-quotas': 'servicequotas'};

function resourceOf({service, op, input: i})
{
	switch (service) {
	case 'cloudformation': {
		const id = i.StackName ?? '';

		return id.startsWith('arn:') ? id : arn('cloudformation', `stack/${id}/*`);
	}
	case 'eks':
		if (/Addon$/.test(op) && op !== 'CreateAddon')
			return arn('eks', `addon/${i.clusterName}/${i.addonName}/1`);
		return arn('eks', `cluster/${i.name ?? i.clusterName}`);
	case 'iam':
		return i.RoleName ? role(i.RoleName) : '*';
	case 'sagemaker':
		return arn('sagemaker', `cluster/${i.ClusterName ?? 'x'}`);
	case 's3':
		return `arn:aws:s3:::${i.Bucket}${i.Key === undefined ? '' : `/${i.Key}`}`;
	case 'logs':
		return arn('logs', `log-group:${i.logGroupName ?? i.logGroupNamePrefix ?? ''}`);
	default:
		return '*';
	}
}

/** [{action, resource, context}]; tags: {id: tags} of what was made with tags. */
export function needs(r, tags)
{
	const {service, op, input} = r;
	const prefix = SERVICES[service] ?? service;
	const id = input.SubnetId ?? input.VpcId ?? input.RouteTableId ?? input.GroupId;
	const context = {};

	for (const {Key, Value} of tags.get(id) ?? [])
		context[`aws:ResourceTag/${Key}`] = Value;
	const all = [{action: `${prefix}:${(service === 's3' && S3[op]) || op}`,
		resource: resourceOf(r), context}];
	const pass = (name, to) => all.push({action: 'iam:PassRole', resource: name,
		context: {'iam:PassedToService': to}});

	if (service === 'sagemaker' && op === 'CreateCluster') {
		for (const g of input.InstanceGroups ?? [])
			pass(g.ExecutionRole, 'sagemaker.amazonaws.com');
		all.push({action: 'sagemaker:AddTags', resource: resourceOf(r), context});
	}
	if (service === 'sagemaker' && op === 'UpdateCluster') {
		for (const g of input.InstanceGroups ?? [])
			pass(g.ExecutionRole, 'sagemaker.amazonaws.com');
		if (input.ClusterRole)
			pass(input.ClusterRole, 'hyperpod.sagemaker.amazonaws.com');
	}
	if (service === 'eks' && op === 'CreatePodIdentityAssociation')
		pass(input.roleArn, 'pods.eks.amazonaws.com');
	if (service === 'eks' && input.tags)
		all.push({action: 'eks:TagResource', resource: resourceOf(r), context});
	if (service === 'iam' && op === 'CreateRole' && input.Tags)
		all.push({action: 'iam:TagRole', resource: resourceOf(r), context});
	if (service === 'ec2' && input.TagSpecifications)
		all.push({action: 'ec2:CreateTags', resource: '*', context});
	return all;
}
