// STS and IAM.
import assert from 'node:assert/strict';

const trust = (...services) => JSON.stringify({Version: '2012-10-17', Statement: [{Effect: 'Allow',
	Principal: {Service: services}, Action: ['sts:AssumeRole', 'sts:TagSession']}]});
const POLICY = JSON.stringify({Version: '2012-10-17', Statement: [
	{Effect: 'Allow', Action: 's3:GetObject', Resource: 'arn:aws:s3:::sagemaker-*/*'}]});

export const TRUST = trust('eks.amazonaws.com', 'sagemaker.amazonaws.com', 'pods.eks.amazonaws.com');

export async function identity(cloud)
{
	const iam = (op, input, expect) => cloud.ok('iam', op, input, expect);
	const refused = (op, input, name, message) => cloud.refused('iam', op, input, name, message);
	const RoleName = 'peer';
	const account = JSON.stringify({Version: '2012-10-17', Statement: [{Effect: 'Allow',
		Principal: {AWS: 'arn:aws:iam::123456789012:root'}, Action: 'sts:AssumeRole'}]});
	const {Role: {Arn}} = await iam('CreateRole', {RoleName, AssumeRolePolicyDocument: account,
		Description: 'ü', Tags: [{Key: 'k', Value: 'v'}, {Key: 'l', Value: 'w'}, {Key: 'm', Value: ''}]},
	a => assert.deepEqual(JSON.parse(decodeURIComponent(a.Role.AssumeRolePolicyDocument)),
		JSON.parse(account)));

	await cloud.waits('iam', 'RoleExists', {RoleName});
	await refused('CreateRole', {RoleName, AssumeRolePolicyDocument: account},
		'EntityAlreadyExistsException');
	await refused('CreateRole', {RoleName: 'bad', AssumeRolePolicyDocument: '{'},
		'MalformedPolicyDocumentException');
	await refused('GetRole', {RoleName: 'none'}, 'NoSuchEntityException', /none/);
	await iam('GetRole', {RoleName}, a => assert(a.Role.CreateDate instanceof Date));
	await iam('UpdateRole', {RoleName, MaxSessionDuration: 7200});
	await iam('UpdateAssumeRolePolicy', {RoleName, PolicyDocument: account});
	for (const PolicyName of ['one', 'two', 'three'])
		await iam('PutRolePolicy', {RoleName, PolicyName, PolicyDocument: POLICY});
	await iam('GetRolePolicy', {RoleName, PolicyName: 'one'},
		a => assert.deepEqual(JSON.parse(decodeURIComponent(a.PolicyDocument)), JSON.parse(POLICY)));
	await iam('ListRolePolicies', {RoleName});
	await cloud.pages('iam', 'ListRolePolicies', {RoleName}, 'PolicyNames');
	await iam('TagRole', {RoleName, Tags: [{Key: 'n', Value: '1'}]});
	await iam('ListRoleTags', {RoleName}, a => assert.equal(a.Tags.length, 4));
	await cloud.pages('iam', 'ListRoleTags', {RoleName}, 'Tags');
	await iam('UntagRole', {RoleName, TagKeys: ['n']});

	const policies = [];

	for (const PolicyName of ['mine', 'other', 'third'])
		policies.push((await iam('CreatePolicy', {PolicyName, PolicyDocument: POLICY})).Policy.Arn);
	const [PolicyArn] = policies;

	await cloud.waits('iam', 'PolicyExists', {PolicyArn});
	await refused('CreatePolicy', {PolicyName: 'mine', PolicyDocument: POLICY},
		'EntityAlreadyExistsException');
	await iam('GetPolicy', {PolicyArn});
	await iam('ListPolicies', {Scope: 'Local'}, a => assert.equal(a.Policies.length, 3));
	await cloud.pages('iam', 'ListPolicies', {Scope: 'Local'}, 'Policies');
	const {PolicyVersion: {VersionId}} = await iam('CreatePolicyVersion',
		{PolicyArn, PolicyDocument: POLICY});

	await iam('GetPolicyVersion', {PolicyArn, VersionId});
	await iam('ListPolicyVersions', {PolicyArn}, a => assert.equal(a.Versions.length, 2));
	await cloud.pages('iam', 'ListPolicyVersions', {PolicyArn}, 'Versions', 1);
	await iam('DeletePolicyVersion', {PolicyArn, VersionId});
	await refused('DeletePolicyVersion', {PolicyArn, VersionId: 'v1'}, 'DeleteConflictException');
	for (const arn of policies)
		await iam('AttachRolePolicy', {RoleName, PolicyArn: arn});
	await refused('AttachRolePolicy', {RoleName, PolicyArn: 'arn:aws:iam::aws:policy/NoSuchPolicy'},
		'NoSuchEntityException');
	await iam('ListAttachedRolePolicies', {RoleName});
	await cloud.pages('iam', 'ListAttachedRolePolicies', {RoleName}, 'AttachedPolicies');
	await iam('ListEntitiesForPolicy', {PolicyArn}, a => assert.equal(a.PolicyRoles.length, 1));
	await cloud.pages('iam', 'ListEntitiesForPolicy', {PolicyArn}, 'PolicyRoles', 1);
	await refused('DeletePolicy', {PolicyArn}, 'DeleteConflictException');
	await iam('PutRolePermissionsBoundary', {RoleName, PermissionsBoundary: PolicyArn});
	await iam('DeleteRolePermissionsBoundary', {RoleName});
	await iam('ListRoles', {});
	await cloud.ok('iam', 'CreateRole', {RoleName: 'peer2', AssumeRolePolicyDocument: account});
	await cloud.ok('iam', 'CreateRole', {RoleName: 'peer3', AssumeRolePolicyDocument: account});
	await cloud.pages('iam', 'ListRoles', {}, 'Roles', 1);

	const InstanceProfileName = 'profile';

	await iam('CreateInstanceProfile', {InstanceProfileName});
	await cloud.waits('iam', 'InstanceProfileExists', {InstanceProfileName});
	await iam('AddRoleToInstanceProfile', {InstanceProfileName, RoleName});
	await iam('GetInstanceProfile', {InstanceProfileName},
		a => assert.equal(a.InstanceProfile.Roles[0].RoleName, RoleName));
	await iam('ListInstanceProfilesForRole', {RoleName});
	await cloud.pages('iam', 'ListInstanceProfilesForRole', {RoleName}, 'InstanceProfiles', 1);
	await refused('DeleteRole', {RoleName}, 'DeleteConflictException');
	await iam('RemoveRoleFromInstanceProfile', {InstanceProfileName, RoleName});
	await iam('DeleteInstanceProfile', {InstanceProfileName});

	const {OpenIDConnectProviderArn} = await iam('CreateOpenIDConnectProvider', {
		Url: 'https://oidc.eks.us-west-2.amazonaws.com/id/ABC', ClientIDList: ['sts.amazonaws.com'],
		ThumbprintList: ['9e99a48a9960b14926bb7f3b02e22da2b0ab7280']});

	await iam('GetOpenIDConnectProvider', {OpenIDConnectProviderArn});
	await iam('ListOpenIDConnectProviders', {});
	await iam('AddClientIDToOpenIDConnectProvider', {OpenIDConnectProviderArn, ClientID: 'other'});
	await iam('UpdateOpenIDConnectProviderThumbprint', {OpenIDConnectProviderArn,
		ThumbprintList: ['0e99a48a9960b14926bb7f3b02e22da2b0ab7280']});
	await iam('DeleteOpenIDConnectProvider', {OpenIDConnectProviderArn});

	const {Role: linked} = await iam('CreateServiceLinkedRole', {AWSServiceName: 'eks.amazonaws.com'});

	await refused('CreateServiceLinkedRole', {AWSServiceName: 'eks.amazonaws.com'},
		'InvalidInputException');
	const {DeletionTaskId} = await iam('DeleteServiceLinkedRole', {RoleName: linked.RoleName});

	await iam('GetServiceLinkedRoleDeletionStatus', {DeletionTaskId});
	await iam('SimulatePrincipalPolicy', {PolicySourceArn: Arn, ActionNames: ['ec2:CreateVpc',
		's3:GetObject', 'eks:CreateCluster']}, a => assert.equal(a.EvaluationResults.length, 3));
	await cloud.pages('iam', 'SimulatePrincipalPolicy', {PolicySourceArn: Arn,
		ActionNames: ['ec2:CreateVpc', 's3:GetObject', 'eks:CreateCluster']}, 'EvaluationResults');

	const sts = (op, input, expect) => cloud.ok('sts', op, input, expect);

	await sts('GetCallerIdentity', {}, a => assert.equal(a.Account, '123456789012'));
	await sts('AssumeRole', {RoleArn: Arn, RoleSessionName: 'me'},
		a => assert(a.Credentials.Expiration instanceof Date));
	await cloud.refused('sts', 'AssumeRole', {RoleArn: `${Arn}x`, RoleSessionName: 'me'},
		'AccessDenied');
	await webIdentity(cloud);

	for (const arn of policies)
		await iam('DetachRolePolicy', {RoleName, PolicyArn: arn});
	for (const PolicyName of ['one', 'two', 'three'])
		await iam('DeleteRolePolicy', {RoleName, PolicyName});
	await iam('DeletePolicy', {PolicyArn});
	await iam('DeleteRole', {RoleName});
	await cloud.ok('iam', 'CreateRole', {RoleName: 'all', AssumeRolePolicyDocument: TRUST});
}

/* A token of a provider that the account knows; its signature nobody can check here. */
async function webIdentity(cloud)
{
	const issuer = 'oidc.eks.us-west-2.amazonaws.com/id/WEB';
	const {OpenIDConnectProviderArn: Federated} = await cloud.send('iam',
		'CreateOpenIDConnectProvider', {Url: `https://${issuer}`, ClientIDList: ['sts.amazonaws.com'],
			ThumbprintList: ['9e99a48a9960b14926bb7f3b02e22da2b0ab7280']});
	const sub = 'system:serviceaccount:a:b';
	const {Role} = await cloud.send('iam', 'CreateRole', {RoleName: 'web',
		AssumeRolePolicyDocument: JSON.stringify({Version: '2012-10-17', Statement: [{Effect: 'Allow',
			Principal: {Federated}, Action: 'sts:AssumeRoleWithWebIdentity',
			Condition: {StringEquals: {[`${issuer}:sub`]: sub}}}]})});
	const part = o => Buffer.from(JSON.stringify(o)).toString('base64url');
	const now = Math.floor(Date.now() / 1000);
	const token = `${part({alg: 'RS256'})}.${part({iss: `https://${issuer}`, sub,
		aud: 'sts.amazonaws.com', iat: now, exp: now + 600})}.${part('signature')}`;
	const input = {RoleArn: Role.Arn, RoleSessionName: 'pod', WebIdentityToken: token};

	await cloud.ok('sts', 'AssumeRoleWithWebIdentity', input,
		a => assert.match(a.AssumedRoleUser.Arn, /assumed-role\/web\/pod/));
	await cloud.refused('sts', 'AssumeRoleWithWebIdentity', {...input, WebIdentityToken: 'a.b.c'},
		'InvalidIdentityTokenException');
}
