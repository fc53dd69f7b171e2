#include "core/aws/s3_names.h"

#include "core/base/str.h"

struct bound {
	const char *member;
	const char *wire;
};

static const struct bound in_query[] = {
	{"Delimiter", "delimiter"},
	{"EncodingType", "encoding-type"},
	{"MaxKeys", "max-keys"},
	{"Prefix", "prefix"},
	{"ContinuationToken", "continuation-token"},
	{"FetchOwner", "fetch-owner"},
	{"StartAfter", "start-after"},
	{"VersionId", "versionId"},
	{"KeyMarker", "key-marker"},
	{"VersionIdMarker", "version-id-marker"},
	{"UploadIdMarker", "upload-id-marker"},
	{"MaxUploads", "max-uploads"},
	{"UploadId", "uploadId"},
	{"PartNumber", "partNumber"},
	{"MaxBuckets", "max-buckets"},
	{"BucketRegion", "bucket-region"},
};

static const struct bound in_header[] = {
	{"ExpectedBucketOwner", "x-amz-expected-bucket-owner"},
	{"ACL", "x-amz-acl"},
	{"ObjectOwnership", "x-amz-object-ownership"},
	{"ObjectLockEnabledForBucket", "x-amz-bucket-object-lock-enabled"},
	{"CacheControl", "Cache-Control"},
	{"ContentDisposition", "Content-Disposition"},
	{"ContentEncoding", "Content-Encoding"},
	{"ContentLanguage", "Content-Language"},
	{"ContentType", "content-type"},
	{"ContentMD5", "Content-MD5"},
	{"ChecksumAlgorithm", "x-amz-sdk-checksum-algorithm"},
	{"ChecksumCRC32", "x-amz-checksum-crc32"},
	{"ChecksumSHA256", "x-amz-checksum-sha256"},
	{"IfMatch", "If-Match"},
	{"IfNoneMatch", "If-None-Match"},
	{"Range", "Range"},
	{"ServerSideEncryption", "x-amz-server-side-encryption"},
	{"SSEKMSKeyId", "x-amz-server-side-encryption-aws-kms-key-id"},
	{"StorageClass", "x-amz-storage-class"},
	{"Tagging", "x-amz-tagging"},
	{"RequestPayer", "x-amz-request-payer"},
};

const struct s3_answer_header s3_answer_headers[] = {
	{"etag", "ETag", NAME_STR},
	{"last-modified", "LastModified", NAME_TIME},
	{"content-length", "ContentLength", NAME_INT},
	{"content-type", "ContentType", NAME_STR},
	{"content-range", "ContentRange", NAME_STR},
	{"location", "Location", NAME_STR},
	{"x-amz-bucket-arn", "BucketArn", NAME_STR},
	{"x-amz-bucket-region", "BucketRegion", NAME_STR},
	{"x-amz-delete-marker", "DeleteMarker", NAME_BOOL},
	{"x-amz-version-id", "VersionId", NAME_STR},
	{"x-amz-server-side-encryption", "ServerSideEncryption", NAME_STR},
	{"x-amz-server-side-encryption-aws-kms-key-id", "SSEKMSKeyId", NAME_STR},
	{"x-amz-storage-class", "StorageClass", NAME_STR},
	{"x-amz-checksum-crc32", "ChecksumCRC32", NAME_STR},
	{"x-amz-expiration", "Expiration", NAME_STR},
	{"x-amz-object-lock-mode", "ObjectLockMode", NAME_STR},
	{"x-amz-object-lock-retain-until-date", "ObjectLockRetainUntilDate", NAME_STR},
	{"x-amz-object-lock-legal-hold", "ObjectLockLegalHoldStatus", NAME_STR},
	{0},
};

static const char *look(const struct bound *rows, size_t n, const char *member)
{
	for (size_t i = 0; i < n; i++)
		if (streq(rows[i].member, member))
			return rows[i].wire;
	return NULL;
}

const char *s3_query_of(const char *member)
{
	return look(in_query, sizeof(in_query) / sizeof(*in_query), member);
}

const char *s3_header_of(const char *member)
{
	return look(in_header, sizeof(in_header) / sizeof(*in_header), member);
}
