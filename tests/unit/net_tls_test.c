/*
 * Whom the transport trusts: the system, the configured authorities, or, for a
 * cluster's API server, its own authority and nobody else.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/net/transport.h"

enum { PATIENCE_MS = 10000 };

struct identity {
	EVP_PKEY *key;
	X509 *cert;
	char pem[4096];
};

static void add_extension(X509 *cert, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509_EXTENSION *ext;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	cr_assert(ext);
	X509_add_ext(cert, ext, -1);
	X509_EXTENSION_free(ext);
}

/* A self-signed certificate for 127.0.0.1 that is its own authority. */
static void make_identity(struct identity *id, const char *name)
{
	BIO *bio = BIO_new(BIO_s_mem());
	int n;

	memset(id, 0, sizeof(*id));
	id->key = EVP_EC_gen("P-256");
	id->cert = X509_new();
	X509_set_version(id->cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(id->cert), 1);
	X509_gmtime_adj(X509_getm_notBefore(id->cert), -3600);
	X509_gmtime_adj(X509_getm_notAfter(id->cert), 3600);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(id->cert), "CN", MBSTRING_ASC,
				   (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(id->cert, X509_get_subject_name(id->cert));
	X509_set_pubkey(id->cert, id->key);
	add_extension(id->cert, NID_basic_constraints, "critical,CA:TRUE");
	add_extension(id->cert, NID_subject_alt_name, "IP:127.0.0.1");
	cr_assert(X509_sign(id->cert, id->key, EVP_sha256()));
	cr_assert(PEM_write_bio_X509(bio, id->cert));
	n = BIO_read(bio, id->pem, (int)sizeof(id->pem) - 1);
	cr_assert_gt(n, 0);
	BIO_free(bio);
}

static void free_identity(struct identity *id)
{
	EVP_PKEY_free(id->key);
	X509_free(id->cert);
}

struct tls_server {
	SSL_CTX *ctx;
	int listener;
	int port;
	int stop[2];
	pthread_t thread;
	size_t n_requests;
};

static void serve_one(struct tls_server *s, int fd)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n"
				     "Content-Length: 2\r\n\r\nhi";
	SSL *ssl = SSL_new(s->ctx);
	char request[4096];

	SSL_set_fd(ssl, fd);
	if (SSL_accept(ssl) == 1 && SSL_read(ssl, request, sizeof(request)) > 0) {
		s->n_requests++;
		SSL_write(ssl, answer, (int)sizeof(answer) - 1);
		SSL_shutdown(ssl);
	}
	SSL_free(ssl);
}

static void *serve(void *ctx)
{
	struct tls_server *s = ctx;

	for (;;) {
		struct pollfd p[2] = {{.fd = s->listener, .events = POLLIN},
				      {.fd = s->stop[0], .events = POLLIN}};
		int fd;

		if (poll(p, 2, PATIENCE_MS) <= 0 || (p[1].revents & POLLIN))
			return NULL;
		fd = accept(s->listener, NULL, NULL);
		if (fd < 0)
			return NULL;
		serve_one(s, fd);
		close(fd);
	}
}

static void server_start(struct tls_server *s, const struct identity *id)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);

	signal(SIGPIPE, SIG_IGN); /* the server's: clients hang up on it */
	memset(s, 0, sizeof(*s));
	s->ctx = SSL_CTX_new(TLS_server_method());
	cr_assert(SSL_CTX_use_certificate(s->ctx, id->cert));
	cr_assert(SSL_CTX_use_PrivateKey(s->ctx, id->key));
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(bind(s->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	cr_assert_eq(listen(s->listener, 8), 0);
	cr_assert_eq(getsockname(s->listener, (struct sockaddr *)&at, &len), 0);
	cr_assert_eq(pipe(s->stop), 0);
	s->port = ntohs(at.sin_port);
	cr_assert_eq(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_stop(struct tls_server *s)
{
	cr_assert_eq(write(s->stop[1], "x", 1), 1);
	pthread_join(s->thread, NULL);
	close(s->listener);
	close(s->stop[0]);
	close(s->stop[1]);
	SSL_CTX_free(s->ctx);
}

enum authority { NOBODY, SERVER, OTHER };

struct trust_case {
	enum authority configured; /* given to net_curl_new() */
	enum authority of_request; /* ca_pem */
	const char *host;
	bool trusted;
};

static const struct trust_case cases[] = {
	{NOBODY, NOBODY, "127.0.0.1", false}, /* the system does not know it */
	{SERVER, NOBODY, "127.0.0.1", true},
	{OTHER, NOBODY, "127.0.0.1", false},
	{NOBODY, SERVER, "127.0.0.1", true},
	{NOBODY, OTHER, "127.0.0.1", false},
	{OTHER, SERVER, "127.0.0.1", true},
	/* The request's authority is the only one, whatever is configured. */
	{SERVER, OTHER, "127.0.0.1", false},
	/* The right authority for another name. */
	{SERVER, NOBODY, "localhost", false},
	{NOBODY, SERVER, "localhost", false},
};

Test(tls, trust, .timeout = 60)
{
	struct identity ours, other;
	struct tls_server s;
	const char *pem[3];
	size_t n_trusted = 0;

	make_identity(&ours, "ours");
	make_identity(&other, "other");
	server_start(&s, &ours);
	pem[NOBODY] = NULL;
	pem[SERVER] = ours.pem;
	pem[OTHER] = other.pem;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct trust_case *c = &cases[i];
		struct arena a;
		struct err e = {0};
		struct http_answer ans;
		struct http_request req = {.method = "POST",
					   .body = "b",
					   .body_len = 1,
					   .timeout_ms = PATIENCE_MS,
					   .no_proxy = true};
		struct transport *t;
		bool ok;

		arena_init(&a, 0);
		t = net_curl_new(&a, pem[c->configured], &e);
		cr_assert(t, "%s", e.detail);
		req.ca_pem = pem[c->of_request];
		req.url = arena_printf(&a, "https://%s:%d/", c->host, s.port);
		ok = t->send(t, &a, &req, &ans, &e);
		cr_expect_eq(ok, c->trusted, "row %zu: %s", i, e.detail);
		cr_expect_eq(ans.outcome, c->trusted ? NET_ANSWERED : NET_NOT_SENT,
			     "row %zu", i);
		n_trusted += c->trusted;
		arena_free(&a);
	}
	server_stop(&s);
	cr_expect_eq(s.n_requests, n_trusted);
	free_identity(&ours);
	free_identity(&other);
}

/* One handle serves targets with different authorities: what one trusts must
 * not be remembered for the next, on a kept connection or otherwise. */
Test(tls, trust_is_not_remembered, .timeout = 60)
{
	struct identity ours, other;
	struct tls_server s;
	struct arena a;
	struct err e = {0};
	struct http_answer ans;
	struct http_request req = {
		.method = "GET", .timeout_ms = PATIENCE_MS, .no_proxy = true};
	struct transport *t;

	arena_init(&a, 0);
	make_identity(&ours, "ours");
	make_identity(&other, "other");
	server_start(&s, &ours);
	t = net_curl_new(&a, NULL, &e);
	cr_assert(t);
	req.url = arena_printf(&a, "https://127.0.0.1:%d/", s.port);
	req.ca_pem = ours.pem;
	cr_expect(t->send(t, &a, &req, &ans, &e), "%s", e.detail);
	req.ca_pem = other.pem;
	cr_expect_not(t->send(t, &a, &req, &ans, &e));
	req.ca_pem = NULL;
	cr_expect_not(t->send(t, &a, &req, &ans, &e));
	req.ca_pem = ours.pem;
	cr_expect(t->send(t, &a, &req, &ans, &e), "%s", e.detail);
	cr_expect_str_eq(ans.body, "hi");
	server_stop(&s);
	free_identity(&ours);
	free_identity(&other);
	arena_free(&a);
}
