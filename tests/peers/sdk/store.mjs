// S3, quotas, logs.
import assert from 'node:assert/strict';

export async function store(cloud)
{
	const s3 = (op, input, expect) => cloud.ok('s3', op, input, expect);
	const refused = (op, input, name, message) => cloud.refused('s3', op, input, name, message);
	const Bucket = 'sagemaker-peer';
	const where = {CreateBucketConfiguration: {LocationConstraint: 'us-west-2'}};

	await s3('CreateBucket', {Bucket, ...where});
	for (const more of ['sagemaker-two', 'sagemaker-three'])
		await s3('CreateBucket', {Bucket: more, ...where});
	await cloud.waits('s3', 'BucketExists', {Bucket});
	await refused('CreateBucket', {Bucket, ...where}, 'BucketAlreadyOwnedByYou');
	await cloud.settings({foreign_buckets: ['taken-name']});
	await refused('CreateBucket', {Bucket: 'taken-name', ...where}, 'BucketAlreadyExists');
	await refused('CreateBucket', {Bucket: 'No_Name', ...where}, 'InvalidBucketName');
	await s3('HeadBucket', {Bucket});
	await refused('HeadBucket', {Bucket: 'no-such-bucket'}, 'NotFound');
	await s3('GetBucketLocation', {Bucket},
		a => assert.equal(a.LocationConstraint, 'us-west-2'));
	await s3('ListBuckets', {}, a => assert(a.Buckets[0].CreationDate instanceof Date));
	await cloud.pages('s3', 'ListBuckets', {}, 'Buckets', 1);
	await refused('GetBucketTagging', {Bucket}, 'NoSuchTagSet');
	await s3('PutBucketTagging', {Bucket, Tagging: {TagSet: [{Key: 'a', Value: 'b & c'}]}});
	await s3('GetBucketTagging', {Bucket}, a => assert.equal(a.TagSet[0].Value, 'b & c'));
	await s3('DeleteBucketTagging', {Bucket});
	await s3('PutPublicAccessBlock', {Bucket, PublicAccessBlockConfiguration: {BlockPublicAcls: true,
		IgnorePublicAcls: true, BlockPublicPolicy: true, RestrictPublicBuckets: true}});
	await s3('GetPublicAccessBlock', {Bucket},
		a => assert.equal(a.PublicAccessBlockConfiguration.BlockPublicAcls, true));
	await s3('PutBucketEncryption', {Bucket, ServerSideEncryptionConfiguration: {Rules: [
		{ApplyServerSideEncryptionByDefault: {SSEAlgorithm: 'AES256'}}]}});
	await s3('GetBucketEncryption', {Bucket});
	await refused('GetBucketPolicy', {Bucket}, 'NoSuchBucketPolicy');
	await s3('PutBucketPolicy', {Bucket, Policy: POLICY(Bucket)});
	await s3('GetBucketPolicy', {Bucket}, a => assert.deepEqual(JSON.parse(a.Policy), JSON.parse(POLICY(Bucket))));
	await refused('GetObjectLockConfiguration', {Bucket}, 'ObjectLockConfigurationNotFoundError');
	await s3('PutBucketVersioning', {Bucket, VersioningConfiguration: {Status: 'Suspended'}});
	await s3('GetBucketVersioning', {Bucket});

	const Key = 'a b/ü+?&=on create.sh';

	await s3('PutObject', {Bucket, Key, Body: '#!/bin/bash\necho "<hello>"\n'});
	await s3('PutObject', {Bucket, Key: 'bytes', Body: new Uint8Array([0, 1, 2, 255])});
	await s3('PutObject', {Bucket, Key: 'empty', Body: ''});
	await s3('GetObject', {Bucket, Key},
		a => assert.equal(new TextDecoder().decode(a.Body), '#!/bin/bash\necho "<hello>"\n'));
	const {sdk, client} = cloud.of('s3');
	const bytes = await client.send(new sdk.GetObjectCommand({Bucket, Key: 'bytes'}));

	assert.deepEqual([...await bytes.Body.transformToByteArray()], [0, 1, 2, 255]);
	await s3('HeadObject', {Bucket, Key}, a => {
		assert.equal(a.ContentLength, 27);
		assert(a.LastModified instanceof Date);
	});
	await cloud.waits('s3', 'ObjectExists', {Bucket, Key});
	await refused('GetObject', {Bucket, Key: 'none'}, 'NoSuchKey');
	await refused('HeadObject', {Bucket, Key: 'none'}, 'NotFound');
	await refused('ListObjectsV2', {Bucket: 'no-such-bucket'}, 'NoSuchBucket');
	await s3('ListObjectsV2', {Bucket}, a => assert(a.Contents.some(o => o.Key === Key)));
	await s3('ListObjectsV2', {Bucket, Delimiter: '/'},
		a => assert.deepEqual(a.CommonPrefixes, [{Prefix: 'a b/'}]));
	await cloud.pages('s3', 'ListObjectsV2', {Bucket}, 'Contents');
	await s3('ListObjectVersions', {Bucket});
	const {UploadId} = await s3('CreateMultipartUpload', {Bucket, Key: 'half'});

	await s3('ListMultipartUploads', {Bucket}, a => assert.deepEqual(a.Uploads.map(u => u.Key), ['half']));
	await s3('AbortMultipartUpload', {Bucket, Key: 'half', UploadId});
	await refused('AbortMultipartUpload', {Bucket, Key: 'half', UploadId}, 'NoSuchUpload');
	await refused('DeleteBucket', {Bucket}, 'BucketNotEmpty');
	await s3('DeleteObject', {Bucket, Key});
	await cloud.waits('s3', 'ObjectNotExists', {Bucket, Key});
	await s3('DeleteObjects', {Bucket, Delete: {Objects: [{Key: 'bytes'}, {Key: 'empty'}]}},
		a => assert.equal(a.Deleted.length, 2));
	await locked(s3, where);
	/* Where versions were suspended a deletion leaves a marker, which is content. */
	await refused('DeleteBucket', {Bucket}, 'BucketNotEmpty');
	const {Versions = [], DeleteMarkers = []} = await s3('ListObjectVersions', {Bucket});

	assert(DeleteMarkers.length > 0);
	await s3('DeleteObjects', {Bucket, Delete: {Objects: [...Versions, ...DeleteMarkers]
		.map(v => ({Key: v.Key, VersionId: v.VersionId}))}});
	await s3('DeleteBucket', {Bucket});
	await cloud.waits('s3', 'BucketNotExists', {Bucket});
	await quotas(cloud);
	await logs(cloud);
}

const POLICY = bucket => JSON.stringify({Version: '2012-10-17', Statement: [{Effect: 'Deny', Principal: '*', Action: 's3:*',
	Resource: [`arn:aws:s3:::${bucket}`], Condition: {Bool: {'aws:SecureTransport': 'false'}}}]});

async function locked(s3, where)
{
	const Bucket = 'sagemaker-locked';

	await s3('CreateBucket', {Bucket, ObjectLockEnabledForBucket: true, ...where});
	await s3('PutObjectLockConfiguration', {Bucket, ObjectLockConfiguration: {ObjectLockEnabled: 'Enabled',
		Rule: {DefaultRetention: {Mode: 'GOVERNANCE', Days: 1}}}});
	await s3('GetObjectLockConfiguration', {Bucket},
		a => assert.equal(a.ObjectLockConfiguration.Rule.DefaultRetention.Mode, 'GOVERNANCE'));
	await s3('DeleteBucket', {Bucket});
}

async function quotas(cloud)
{
	const ask = (op, input, expect) => cloud.ok('service-quotas', op, input, expect);
	const ServiceCode = 'vpc';
	const QuotaCode = 'L-F678F1CE';

	await ask('ListServices', {});
	await cloud.pages('service-quotas', 'ListServices', {}, 'Services', 1);
	await ask('ListServiceQuotas', {ServiceCode});
	await cloud.pages('service-quotas', 'ListServiceQuotas', {ServiceCode: 'sagemaker'}, 'Quotas', 20);
	await ask('GetServiceQuota', {ServiceCode, QuotaCode}, a => assert.equal(a.Quota.Value, 5));
	await ask('GetAWSDefaultServiceQuota', {ServiceCode, QuotaCode});
	await ask('ListAWSDefaultServiceQuotas', {ServiceCode});
	await cloud.pages('service-quotas', 'ListAWSDefaultServiceQuotas', {ServiceCode}, 'Quotas');
	await cloud.refused('service-quotas', 'GetServiceQuota', {ServiceCode, QuotaCode: 'L-00000000'},
		'NoSuchResourceException');
	const {RequestedQuota: {Id}} = await ask('RequestServiceQuotaIncrease',
		{ServiceCode, QuotaCode, DesiredValue: 50});

	await ask('GetRequestedServiceQuotaChange', {RequestId: Id});
	await ask('ListRequestedServiceQuotaChangeHistoryByQuota', {ServiceCode, QuotaCode});
	await cloud.pages('service-quotas', 'ListRequestedServiceQuotaChangeHistoryByQuota',
		{ServiceCode, QuotaCode}, 'RequestedQuotas', 1);
}

async function logs(cloud)
{
	const ask = (op, input, expect) => cloud.ok('logs', op, input, expect);
	const logGroupName = '/aws/sagemaker/Clusters/a/b';

	await ask('CreateLogGroup', {logGroupName, tags: {a: 'b'}});
	for (const more of ['/one', '/two'])
		await ask('CreateLogGroup', {logGroupName: more});
	await cloud.refused('logs', 'CreateLogGroup', {logGroupName}, 'ResourceAlreadyExistsException');
	await ask('DescribeLogGroups', {});
	await cloud.pages('logs', 'DescribeLogGroups', {}, 'logGroups', 1);
	for (const logStreamName of ['s1', 's2', 's3'])
		await ask('CreateLogStream', {logGroupName, logStreamName});
	await ask('DescribeLogStreams', {logGroupName});
	await cloud.pages('logs', 'DescribeLogStreams', {logGroupName}, 'logStreams');
	const logEvents = [1, 2, 3].map(i => ({timestamp: Date.now() + i, message: `line ${i} <&>`}));

	await ask('PutLogEvents', {logGroupName, logStreamName: 's1', logEvents});
	await ask('GetLogEvents', {logGroupName, logStreamName: 's1', startFromHead: true},
		a => assert.deepEqual(a.events.map(e => e.message), logEvents.map(e => e.message)));
	await cloud.pages('logs', 'GetLogEvents', {logGroupName, logStreamName: 's1',
		startFromHead: true}, 'events', 2, {stopOnSameToken: true});
	await cloud.pages('logs', 'FilterLogEvents', {logGroupName, filterPattern: 'line'}, 'events', 1);
	await ask('FilterLogEvents', {logGroupName, filterPattern: 'line'});
	await cloud.refused('logs', 'GetLogEvents', {logGroupName, logStreamName: 'none'},
		'ResourceNotFoundException');
	await ask('PutRetentionPolicy', {logGroupName, retentionInDays: 7});
	await ask('DeleteLogGroup', {logGroupName});
}
