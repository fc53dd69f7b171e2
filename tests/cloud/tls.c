#include "tests/cloud/tls.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

enum { DAY_S = 24 * 3600, LIFE_DAYS = 30 };

static const char *take_pem(struct arena *a, BIO *bio)
{
	char *p;
	long n = BIO_get_mem_data(bio, &p);
	const char *ret = arena_strndup(a, p, (size_t)n);

	BIO_free(bio);
	return ret;
}

static const char *cert_pem(struct arena *a, X509 *cert)
{
	BIO *bio = BIO_new(BIO_s_mem());

	PEM_write_bio_X509(bio, cert);
	return take_pem(a, bio);
}

static const char *key_pem(struct arena *a, EVP_PKEY *key)
{
	BIO *bio = BIO_new(BIO_s_mem());

	PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
	return take_pem(a, bio);
}

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	X509_EXTENSION *x = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);

	X509_add_ext(cert, x, -1);
	X509_EXTENSION_free(x);
}

static X509 *begin(EVP_PKEY *key, const char *name, long serial)
{
	X509 *cert = X509_new();
	X509_NAME *subject = X509_get_subject_name(cert);

	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), serial);
	X509_gmtime_adj(X509_getm_notBefore(cert), -DAY_S);
	X509_gmtime_adj(X509_getm_notAfter(cert), (long)LIFE_DAYS * DAY_S);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
				   (const unsigned char *)name, -1, -1, 0);
	X509_set_pubkey(cert, key);
	return cert;
}

bool tls_make(struct arena *a, struct tls_pems *ret)
{
	EVP_PKEY *ca_key = EVP_EC_gen("P-256"), *key = EVP_EC_gen("P-256");

	if (!ca_key || !key)
		return false;
	X509 *ca = begin(ca_key, "Simulated cloud", 1);
	X509 *cert = begin(key, "localhost", 2);

	X509_set_issuer_name(ca, X509_get_subject_name(ca));
	X509_set_issuer_name(cert, X509_get_subject_name(ca));
	add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE");
	add_extension(ca, ca, NID_key_usage, "critical,keyCertSign,cRLSign");
	add_extension(ca, ca, NID_subject_key_identifier, "hash");
	add_extension(cert, ca, NID_basic_constraints, "critical,CA:FALSE");
	add_extension(cert, ca, NID_ext_key_usage, "serverAuth");
	add_extension(cert, ca, NID_authority_key_identifier, "keyid");
	add_extension(cert, ca, NID_subject_alt_name,
		      "DNS:localhost,DNS:*.localhost,IP:127.0.0.1,IP:::1");
	bool ok = X509_sign(ca, ca_key, EVP_sha256()) > 0 &&
		  X509_sign(cert, ca_key, EVP_sha256()) > 0;

	ret->ca = cert_pem(a, ca);
	ret->cert = cert_pem(a, cert);
	ret->key = key_pem(a, key);
	X509_free(ca);
	X509_free(cert);
	EVP_PKEY_free(ca_key);
	EVP_PKEY_free(key);
	return ok;
}
