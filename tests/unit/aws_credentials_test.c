/*
 * The credential chain: who is asked in which order, what is refused, when keys
 * are renewed. Files are real ones in a folder of the test's own.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/aws/aws.h"
#include "tests/unit/aws_fake.h"

static const int64_t start_ms = 1767323045000; /* 2026-01-02T03:04:05Z */

#define KEYS_UNTIL(id, time)                                                             \
	"{\"Code\":\"Success\",\"AccessKeyId\":\"" id                                    \
	"\",\"SecretAccessKey\":\"s\",\"Token\":\"t\",\"Expiration\":\"" time "\"}"
#define KEYS(id) KEYS_UNTIL(id, "2026-01-02T09:04:05Z")
#define ROLE_KEYS(op, id)                                                                  \
	"<" op "Response><" op "Result><Credentials><AccessKeyId>" id                      \
	"</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>" \
	"<Expiration>2026-01-02T04:04:05Z</Expiration></Credentials></" op                 \
	"Result></" op "Response>"
#define OK(url, text)                                                                    \
	{                                                                                \
		url, NET_ANSWERED, 200, text,                                            \
		{                                                                        \
			0                                                                \
		}                                                                        \
	}
#define SILENT(url)                                                                      \
	{                                                                                \
		url, NET_NOT_SENT, 0, NULL,                                              \
		{                                                                        \
			0                                                                \
		}                                                                        \
	}

struct chain_case {
	const char *what;
	struct fake_setting settings[6];
	const char *config;
	const char *credentials;
	struct fake_answer answers[5];
	const char *id;            /* NULL: refused */
	const char *words;         /* in the error's detail */
	const char *asked;         /* in the last request's URL or body */
	const char *authorization; /* of the last request */
	const char *fix;           /* in the fix of what only a person can mend */
	const char *source;        /* of the keys, in words */
	const char *file, *text;   /* one more file below ~/.aws */
};

#define NO_INSTANCE                                                                      \
	{                                                                                \
		"AWS_EC2_METADATA_DISABLED", "true"                                      \
	}
#define ENVIRONMENT                                                                      \
	{"AWS_ACCESS_KEY_ID", "ENV"},                                                    \
	{                                                                                \
		"AWS_SECRET_ACCESS_KEY", "s"                                             \
	}
#define PROFILE(name)                                                                    \
	{                                                                                \
		"AWS_PROFILE", name                                                      \
	}
#define PROCESS(command) "[profile p]\ncredential_process = " command "\n"
#define SSO                                                                              \
	"[profile p]\nsso_session = my-sso\nsso_account_id = 111122223333\n"             \
	"sso_role_name = Admin+1\n[sso-session my-sso]\nsso_region = eu-west-1\n"        \
	"sso_start_url = https://d-1.awsapps.com/start\n"
#define OLD_SSO                                                                          \
	"[profile p]\nsso_account_id = 111122223333\nsso_role_name = Admin\n"            \
	"sso_region = cn-north-1\nsso_start_url = https://d-1.awsapps.com/start\n"
#define SSO_FILE     "sso/cache/0ad374308c5a4e22f723adf10145eafad7c4031c.json"
#define OLD_SSO_FILE "sso/cache/0c54b6c27e90660baa89eaad85ac1d5dae26cb7d.json"
#define LOGIN_FILE                                                                       \
	"login/cache/"                                                                   \
	"6eeec053fe13079aaf7fd81065ec5ecbdb93674f20700e51842d0c769b240c8a.json"
#define SSO_TOKEN(until)                                                                 \
	"{\"accessToken\":\"bearer-1\",\"expiresAt\":\"" until "\",\"region\":\"x\"}"
#define LOGIN_KEYS(until)                                                                \
	"{\"accessToken\":{\"accessKeyId\":\"LOGIN\",\"secretAccessKey\":\"s\","         \
	"\"sessionToken\":\"t\",\"expiresAt\":\"" until "\"},\"refreshToken\":\"r\"}"
#define PORTAL_KEYS                                                                      \
	"{\"roleCredentials\":{\"accessKeyId\":\"SSO\",\"secretAccessKey\":\"s\","       \
	"\"sessionToken\":\"t\",\"expiration\":1767326645000}}"
#define FULL(url)                                                                        \
	{                                                                                \
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", url                                \
	}

static const struct chain_case chain[] = {
	{.what = "environment first",
	 .settings = {ENVIRONMENT, FULL("http://127.0.0.1/x")},
	 .credentials = "[default]\naws_access_key_id=FILE\naws_secret_access_key=s\n",
	 .id = "ENV"},
	{.what = "a chosen profile before the environment",
	 .settings = {ENVIRONMENT, {"AWS_PROFILE", "p"}},
	 .config =
		 "[profile p]\naws_access_key_id = FILE # mine\n; no\naws_secret_access_key=s\n",
	 .id = "FILE"},
	{.what = "a chosen profile that is missing is an error, not a reason to go on",
	 .settings = {ENVIRONMENT, {"AWS_PROFILE", "p"}},
	 .config = "[p]\naws_access_key_id=FILE\naws_secret_access_key=s\n",
	 .words = "p: no such profile"},
	{.what = "the credentials file wins over the config file",
	 .settings = {NO_INSTANCE},
	 .config = "[default]\naws_access_key_id=CONFIG\naws_secret_access_key=s\n",
	 .credentials = "\xef\xbb\xbf\n[default]\r\naws_access_key_id=CREDS\r\n",
	 .id = "CREDS"},
	{.what = "nested settings and other sections are passed over",
	 .settings = {NO_INSTANCE},
	 .config =
		 "[sso-session default]\naws_access_key_id=NO\n[default]\ns3 =\n"
		 "  aws_access_key_id = NO\naws_access_key_id=YES\naws_secret_access_key=s\n",
	 .id = "YES"},
	{.what = "a role by another profile",
	 .settings = {{"AWS_PROFILE", "admin"}},
	 .config =
		 "[profile admin]\nrole_arn=arn:r\nsource_profile=base\nexternal_id=x-1\n"
		 "role_session_name=me\nduration_seconds=900\n",
	 .credentials = "[base]\naws_access_key_id=BASE\naws_secret_access_key=s\n",
	 .answers = {OK("https://sts.us-west-2.amazonaws.com/",
			ROLE_KEYS("AssumeRole", "ROLE"))},
	 .id = "ROLE",
	 .asked =
		 "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Ar&RoleSessionName=me&"
		 "ExternalId=x-1&DurationSeconds=900",
	 .authorization = "Credential=BASE/"},
	{.what = "a source's own keys come before a role that it names",
	 .settings = {{"AWS_PROFILE", "b"}},
	 .config =
		 "[profile b]\nrole_arn=arn:b\nsource_profile=a\n"
		 "[profile a]\nrole_arn=arn:a\nsource_profile=a\naws_access_key_id=BASE\n"
		 "aws_secret_access_key=s\n",
	 .answers = {OK("sts", ROLE_KEYS("AssumeRole", "B"))},
	 .id = "B",
	 .authorization = "Credential=BASE/"},
	{.what = "a role by a role",
	 .settings = {{"AWS_PROFILE", "b"}},
	 .config = "[profile b]\nrole_arn=arn:b\nsource_profile=a\n"
		   "[profile a]\nrole_arn=arn:a\nsource_profile=default\n"
		   "[default]\naws_access_key_id=BASE\naws_secret_access_key=s\n",
	 .answers = {OK("sts", ROLE_KEYS("AssumeRole", "A")),
		     OK("sts", ROLE_KEYS("AssumeRole", "B"))},
	 .id = "B",
	 .asked = "RoleArn=arn%3Ab",
	 .authorization = "Credential=A/"},
	{.what = "a role by the environment",
	 .settings = {ENVIRONMENT, {"AWS_PROFILE", "r"}},
	 .config = "[profile r]\nrole_arn=arn:r\ncredential_source=Environment\n",
	 .answers = {OK("sts", ROLE_KEYS("AssumeRole", "R"))},
	 .id = "R",
	 .authorization = "Credential=ENV/"},
	{.what = "a circle",
	 .settings = {{"AWS_PROFILE", "a"}},
	 .config = "[profile a]\nrole_arn=arn:a\nsource_profile=b\n"
		   "[profile b]\nrole_arn=arn:b\nsource_profile=a\n",
	 .words = "form a loop"},
	{.what = "a role that STS refuses",
	 .settings = {{"AWS_PROFILE", "r"}},
	 .config = "[profile r]\nrole_arn=arn:r\nsource_profile=r\naws_access_key_id=B\n"
		   "aws_secret_access_key=s\n",
	 .answers =
		 {{"sts",
		   NET_ANSWERED,
		   403,
		   "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message>"
		   "</Error></ErrorResponse>",
		   {0}}},
	 .words = "AccessDenied: not you"},
	{.what = "one-time passwords cannot be asked for",
	 .settings = {{"AWS_PROFILE", "r"}},
	 .config = "[profile r]\nrole_arn=arn:r\nsource_profile=r\nmfa_serial=arn:m\n",
	 .words = "mfa_serial"},
	{.what = "no helper programs",
	 .settings = {{"AWS_PROFILE", "r"}},
	 .config = "[profile r]\ncredential_process=/bin/true\n",
	 .words = "credential_process"},
	{.what = "web identity, unsigned, token from the file",
	 .settings = {{"AWS_WEB_IDENTITY_TOKEN_FILE", "TOKEN"},
		      {"AWS_ROLE_ARN", "arn:w"},
		      {"AWS_ROLE_SESSION_NAME", "pod"}},
	 .answers = {OK("sts", ROLE_KEYS("AssumeRoleWithWebIdentity", "WEB"))},
	 .id = "WEB",
	 .asked = "RoleArn=arn%3Aw&RoleSessionName=pod&WebIdentityToken=a.b-c"},
	{.what = "web identity without a role",
	 .settings = {{"AWS_WEB_IDENTITY_TOKEN_FILE", "TOKEN"}},
	 .words = "AWS_ROLE_ARN"},
	{.what = "ECS: the relative address and the token given",
	 .settings = {{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x"},
		      {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "Basic abc"}},
	 .answers = {OK("http://169.254.170.2/v2/x", KEYS("ECS"))},
	 .id = "ECS",
	 .authorization = "Basic abc"},
	{.what = "Pod Identity: the token's file wins",
	 .settings = {FULL("http://169.254.170.23/v1/credentials"),
		      {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "no"},
		      {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "TOKEN"}},
	 .answers = {SILENT("169.254.170.23"),
		     {"169.254.170.23", NET_ANSWERED, 500, "", {0}},
		     OK("169.254.170.23", KEYS("POD"))},
	 .id = "POD",
	 .authorization = "a.b-c"},
	{.what = "a container that is silent ends the chain",
	 .settings = {FULL("http://[fd00:ec2::23]/c")},
	 .answers = {SILENT("fd00"), SILENT("fd00"), SILENT("fd00"), SILENT("fd00")},
	 .words = "container: no answer"},
	{.what = "a container that refuses",
	 .settings = {FULL("https://vault.example.com/c")},
	 .answers = {{"vault",
		      NET_ANSWERED,
		      403,
		      "{\"Code\":\"Denied\",\"Message\":\"go away\"}",
		      {0}}},
	 .words = "answered 403 Denied go away"},
	{.what = "keys without an end are not keys",
	 .settings = {FULL("http://localhost:8080/c")},
	 .answers = {OK("localhost", "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\","
				     "\"Token\":\"t\"}")},
	 .words = "no keys"},
	{.what = "a token with a line break",
	 .settings = {FULL("http://127.0.0.1/c"),
		      {"AWS_CONTAINER_AUTHORIZATION_TOKEN", "a\r\nX: y"}},
	 .words = "line break"},
	/* Plain HTTP to anywhere else would give the token away. */
	{.what = "1",
	 .settings = {FULL("http://169.254.170.24/c")},
	 .words = "not an allowed"},
	{.what = "2",
	 .settings = {FULL("http://127.0.0.1.evil.com/c")},
	 .words = "not an allowed"},
	{.what = "3",
	 .settings = {FULL("http://localhost@evil.com/c")},
	 .words = "not an allowed"},
	{.what = "4",
	 .settings = {FULL("http://169.254.170.2.evil.com/")},
	 .words = "not an allowed"},
	{.what = "5",
	 .settings = {FULL("http://evil.com/?localhost")},
	 .words = "not an allowed"},
	{.what = "6",
	 .settings = {FULL("http://[::1]evil.com/")},
	 .words = "not an allowed"},
	{.what = "7",
	 .settings = {FULL("http://[fd00:ec2::24]/")},
	 .words = "not an allowed"},
	{.what = "8", .settings = {FULL("http://127.1/c")}, .words = "not an allowed"},
	{.what = "9",
	 .settings = {FULL("file:///etc/passwd")},
	 .words = "not an allowed"},
	{.what = "10",
	 .settings = {FULL("http://169.254.170.2\\@evil.com/")},
	 .words = "not an allowed"},
	{.what = "11",
	 .settings = {{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/@evil.com"}},
	 .words = "not an allowed"},
	{.what = "instance metadata, version 2",
	 .answers = {OK("http://169.254.169.254/latest/api/token", "TOK\n"),
		     OK("/latest/meta-data/iam/security-credentials/", "the-role\n"),
		     OK("/security-credentials/the-role", KEYS("IMDS"))},
	 .id = "IMDS"},
	{.what = "no version 1",
	 .answers = {{"/latest/api/token", NET_ANSWERED, 403, "", {0}}},
	 .words = "no version 2 token (403)"},
	{.what = "an instance without a role",
	 .answers = {OK("/latest/api/token", "TOK"),
		     {"/security-credentials/", NET_ANSWERED, 404, "", {0}}},
	 .words = "no role"},
	{.what = "a role name that would leave its path",
	 .answers = {OK("/latest/api/token", "TOK"),
		     OK("/security-credentials/", "../../x")},
	 .words = "no name"},
	{.what = "a container without a way to the metadata service",
	 .answers = {SILENT("/latest/api/token")},
	 .words = "hop limit of 2 (aws ec2 modify-instance-metadata-options "
		  "--http-put-response-hop-limit 2)",
	 .fix = "AWS_PROFILE"},
	{.what = "a quoted profile",
	 .settings = {PROFILE("my own")},
	 .config = "[profile \"my own\"]\naws_access_key_id=Q\naws_secret_access_key=s\n",
	 .id = "Q",
	 .source = "the keys of the profile my own"},
	{.what = "a quoted profile, single quotes, a tab, both files",
	 .settings = {PROFILE("my own")},
	 .config = "[profile\t'my own']\naws_access_key_id=Q\n",
	 .credentials = "['my own']\naws_secret_access_key=s\n",
	 .id = "Q"},
	{.what = "a quote that is part of a name",
	 .settings = {PROFILE("it's")},
	 .config = "[profile it's]\naws_access_key_id=Q\naws_secret_access_key=s\n",
	 .id = "Q"},
	{.what = "a program",
	 .settings = {PROFILE("p"), {"PATH", "/usr/bin:/bin"}},
	 .config = PROCESS("printf '{\"Version\":1,\"AccessKeyId\":\"%s\","
			   "\"SecretAccessKey\":\"s\"}' \"a $b; 'c\" "),
	 .id = "a $b; 'c",
	 .source = "credential_process of the profile p"},
	{.what = "a program as the source of a role",
	 .settings = {PROFILE("r"), {"PATH", "/usr/bin:/bin"}},
	 .config = "[profile r]\nrole_arn=arn:r\nsource_profile=p\n" PROCESS(
		 "/usr/bin/printf {\\\"Version\\\":1,\\\"AccessKeyId\\\":\\\"P\\\","
		 "\\\"SecretAccessKey\\\":\\\"s\\\"}"),
	 .answers = {OK("sts", ROLE_KEYS("AssumeRole", "R"))},
	 .id = "R",
	 .source = "the role arn:r, assumed by credential_process of the profile p",
	 .authorization = "Credential=P/"},
	{.what = "no shell sees the command",
	 .settings = {PROFILE("p"), {"PATH", "/usr/bin:/bin"}},
	 .config = PROCESS("echo $(id) ; id | cat > /tmp/x"),
	 .words = "did not print JSON of version 1",
	 .fix = "\"Version\": 1"},
	{.what = "a program that fails",
	 .settings = {PROFILE("p"), {"PATH", "/usr/bin:/bin"}},
	 .config = PROCESS("ls /nothing/there"),
	 .words = "credential_process ended with status 2: ls: ",
	 .fix = "by hand as this user and follow its message: ls /nothing/there"},
	{.what = "a program that is not there",
	 .settings = {PROFILE("p")},
	 .config = PROCESS("/nothing/there"),
	 .words = "/nothing/there cannot be run",
	 .fix = "absolute path"},
	{.what = "a program by a relative path",
	 .settings = {PROFILE("p")},
	 .config = PROCESS("./there"),
	 .words = "./there cannot be run",
	 .fix = "absolute path"},
	{.what = "a program without end",
	 .settings = {PROFILE("p"), {"PATH", "/usr/bin:/bin"}},
	 .config = PROCESS("cat /dev/zero"),
	 .words = "printed more than 65536 bytes",
	 .fix = "nothing else"},
	{.what = "another version",
	 .settings = {PROFILE("p"), {"PATH", "/usr/bin:/bin"}},
	 .config = PROCESS("echo '{\"Version\":2,\"AccessKeyId\":\"A\","
			   "\"SecretAccessKey\":\"s\"}'"),
	 .words = "did not print JSON of version 1",
	 .fix = "\"Version\": 1"},
	{.what = "an open quote",
	 .settings = {PROFILE("p")},
	 .config = PROCESS("echo 'x"),
	 .words = "cannot be split into words",
	 .fix = "quotes"},
	{.what = "a session of IAM Identity Center",
	 .settings = {PROFILE("p")},
	 .config = SSO,
	 .file = SSO_FILE,
	 .text = SSO_TOKEN("2026-01-02T05:00:00Z"),
	 .answers = {OK("https://portal.sso.eu-west-1.amazonaws.com/federation/"
			"credentials?role_name=Admin%2B1&account_id=111122223333",
			PORTAL_KEYS)},
	 .id = "SSO",
	 .source = "IAM Identity Center by the profile p"},
	{.what = "the older form, in China",
	 .settings = {PROFILE("p")},
	 .config = OLD_SSO,
	 .file = OLD_SSO_FILE,
	 .text = SSO_TOKEN("2026-01-02T05:00:00Z"),
	 .answers = {OK("https://portal.sso.cn-north-1.amazonaws.com.cn/", PORTAL_KEYS)},
	 .id = "SSO"},
	{.what = "a session that has ended",
	 .settings = {PROFILE("p")},
	 .config = SSO,
	 .file = SSO_FILE,
	 .text = SSO_TOKEN("2026-01-02T03:00:00Z"),
	 .words = "session ended at 2026-01-02T03:00:00Z",
	 .fix = "`aws sso login --sso-session my-sso`"},
	{.what = "nobody has signed in",
	 .settings = {PROFILE("p")},
	 .config = OLD_SSO,
	 .words = "no user has signed in to IAM Identity Center",
	 .fix = "`aws sso login --profile p`"},
	{.what = "a session that was ended elsewhere",
	 .settings = {PROFILE("p")},
	 .config = SSO,
	 .file = SSO_FILE,
	 .text = SSO_TOKEN("2026-01-02T05:00:00Z"),
	 .answers = {{"portal.sso", NET_ANSWERED, 401, "{}", {0}}},
	 .words = "no longer accepts the session",
	 .fix = "aws sso login"},
	{.what = "a role that is not assigned",
	 .settings = {PROFILE("p")},
	 .config = SSO,
	 .file = SSO_FILE,
	 .text = SSO_TOKEN("2026-01-02T05:00:00Z"),
	 .answers = {{"portal.sso", NET_ANSWERED, 403, "{}", {0}}},
	 .words = "does not grant you Admin+1 in 111122223333",
	 .fix = "assigned"},
	{.what = "a portal that would be read on the way",
	 .settings = {PROFILE("p"),
		      {"AWS_ENDPOINT_URL_SSO", "http://portal.example.com"}},
	 .config = SSO,
	 .file = SSO_FILE,
	 .text = SSO_TOKEN("2026-01-02T05:00:00Z"),
	 .words = "is not encrypted",
	 .fix = "https://"},
	{.what = "a session that the profile names and nobody has configured",
	 .settings = {PROFILE("p")},
	 .config = "[profile p]\nsso_session = x\n",
	 .words = "no [sso-session x]",
	 .fix = "aws configure sso"},
	{.what = "aws login",
	 .settings = {PROFILE("p")},
	 .config = "[profile p]\nlogin_session = arn:aws:iam::111122223333:user/me\n",
	 .file = LOGIN_FILE,
	 .text = LOGIN_KEYS("2026-01-02T03:10:00Z"),
	 .id = "LOGIN",
	 .source = "`aws login` by the profile p"},
	{.what = "aws login, ended",
	 .settings = {PROFILE("p")},
	 .config = "[profile p]\nlogin_session = arn:aws:iam::111122223333:user/me\n",
	 .file = LOGIN_FILE,
	 .text = LOGIN_KEYS("2026-01-02T03:00:00Z"),
	 .words = "expired at",
	 .fix = "`aws login --profile p`"},
	{.what = "nothing at all: everything that was tried is named",
	 .settings = {NO_INSTANCE},
	 .words =
		 "environment: not set; shared files: no default profile; web identity: not set; "
		 "container: not set; instance metadata: disabled"},
};

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	cr_assert(f);
	cr_assert(fputs(text, f) >= 0);
	cr_assert_eq(fclose(f), 0);
}

/* The case's settings, with HOME and the token's file put in. */
static void fill(struct fake_setting *out, const struct chain_case *c, const char *home,
		 const char *token)
{
	size_t n = 0;

	for (const struct fake_setting *s = c->settings; s->name; s++)
		out[n++] = (struct fake_setting){
			s->name, strcmp(s->value, "TOKEN") == 0 ? token : s->value};
	out[n] = (struct fake_setting){"HOME", home};
}

static void check_case(const struct chain_case *c, const char *home)
{
	struct arena a;
	struct clock_manual clock;
	struct fake_net net = {.keep = &a};
	struct fake_setting settings[8] = {{0}};
	const char *more = NULL;
	struct aws_credentials *creds;
	struct aws_keys keys;
	struct err e = {0};
	const struct http_request *last;
	size_t n = 0;
	bool ok;

	arena_init(&a, 0);
	clock_manual_init(&clock, start_ms);
	while (n < 5 && (c->answers[n].outcome != NET_NOT_SENT || c->answers[n].url))
		n++;
	fake_script(&net, c->answers, n);
	fill(settings, c, home, arena_printf(&a, "%s/token", home));
	write_file(arena_printf(&a, "%s/token", home), "a.b-c");
	write_file(arena_printf(&a, "%s/.aws/config", home), c->config ? c->config : "");
	write_file(arena_printf(&a, "%s/.aws/credentials", home),
		   c->credentials ? c->credentials : "");
	if (c->file) {
		more = arena_printf(&a, "%s/.aws/%s", home, c->file);
		write_file(more, c->text);
	}
	creds = aws_credentials_new(&a, &net.transport, &clock.clock, "us-west-2",
				    fake_lookup, settings);
	ok = aws_credentials_get(creds, &a, &keys, &e);
	cr_expect_eq(ok, c->id != NULL, "%s: %s", c->what, e.detail);
	cr_expect_eq(net.n_sent, n, "%s: %zu exchanges", c->what, net.n_sent);
	if (ok)
		cr_expect_str_eq(secret_reveal(keys.access_key), c->id, "%s", c->what);
	else
		cr_expect(e.code == ERR_CREDENTIALS && strstr(e.detail, c->words),
			  "%s: %s", c->what, e.detail);
	/* What a person must mend says how; what may pass does not pretend to know. */
	if (!ok && c->fix) {
		cr_expect_eq(err_retry(&e), RETRY_HUMAN, "%s", c->what);
		cr_expect(strstr(e.fix, c->fix), "%s: %s", c->what, e.fix);
	}
	cr_expect_eq(!ok && err_retry(&e) == RETRY_HUMAN, !ok && *e.fix, "%s", c->what);
	if (ok)
		cr_expect_not_null(aws_credentials_source(creds), "%s", c->what);
	if (ok && c->source)
		cr_expect_str_eq(aws_credentials_source(creds), c->source, "%s", c->what);
	if (more)
		unlink(more);
	last = n ? &net.sent[n - 1] : NULL;
	if (c->asked)
		cr_expect(strstr(last->body, c->asked), "%s: %s", c->what, last->body);
	if (c->authorization)
		cr_expect(strstr(secret_reveal(last->authorization), c->authorization),
			  "%s", c->what);
	arena_free(&a);
}

Test(credentials, chain)
{
	static const char *const folders[] = {".aws", ".aws/sso", ".aws/sso/cache",
					      ".aws/login", ".aws/login/cache"};
	char home[] = "/tmp/instantstart-credentials-XXXXXX";
	struct arena a;

	arena_init(&a, 0);
	cr_assert(mkdtemp(home));
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		cr_assert_eq(mkdir(arena_printf(&a, "%s/%s", home, folders[i]), 0700), 0);
	for (size_t i = 0; i < sizeof(chain) / sizeof(*chain); i++)
		check_case(&chain[i], home);
	unlink(arena_printf(&a, "%s/.aws/config", home));
	unlink(arena_printf(&a, "%s/.aws/credentials", home));
	unlink(arena_printf(&a, "%s/token", home));
	for (size_t i = sizeof(folders) / sizeof(*folders); i > 0; i--)
		rmdir(arena_printf(&a, "%s/%s", home, folders[i - 1]));
	rmdir(home);
	arena_free(&a);
}

/* ---------------------------------------------------------------- life of keys */

struct life {
	struct arena arena;
	struct clock_manual clock;
	struct fake_net net;
	struct aws_credentials *creds;
};

static void open_life(struct life *l, const struct fake_setting *settings)
{
	arena_init(&l->arena, 0);
	clock_manual_init(&l->clock, start_ms);
	l->net = (struct fake_net){.keep = &l->arena};
	l->creds = aws_credentials_new(&l->arena, &l->net.transport, &l->clock.clock,
				       "us-west-2", fake_lookup,
				       (void *)(uintptr_t)settings);
}

static const char *id_now(struct life *l)
{
	struct aws_keys keys;
	struct err e = {0};

	if (!aws_credentials_get(l->creds, &l->arena, &keys, &e)) {
		cr_expect_eq(e.code, ERR_CREDENTIALS);
		return "none";
	}
	cr_expect_eq(e.code, ERR_NONE);
	return secret_reveal(keys.access_key);
}

static void minutes(struct life *l, int n)
{
	clock_manual_advance(&l->clock, n * 60000LL);
}

static const struct fake_setting container[] = {FULL("http://127.0.0.1/c"), {0}};

/* Keys of an hour: asked again five minutes before the end, and used on while
 * that fails; after the end there are none. */
Test(credentials, renewed_early_and_used_on_until_the_end)
{
	struct life l;

	open_life(&l, container);
	FAKE_SCRIPT(&l.net, OK(NULL, KEYS_UNTIL("A", "2026-01-02T04:04:05Z")));
	cr_expect_str_eq(id_now(&l), "A");
	minutes(&l, 54);
	cr_expect_str_eq(id_now(&l), "A");
	cr_expect_eq(l.net.n_sent, 1);
	minutes(&l, 2);
	FAKE_SCRIPT(&l.net, SILENT(NULL), SILENT(NULL), SILENT(NULL), SILENT(NULL));
	cr_expect_str_eq(id_now(&l), "A");
	cr_expect_str_eq(id_now(&l), "A"); /* not asked again at once */
	cr_expect_eq(l.net.n_sent, 4);
	minutes(&l, 2);
	FAKE_SCRIPT(&l.net, OK(NULL, KEYS_UNTIL("B", "2026-01-02T05:04:05Z")));
	cr_expect_str_eq(id_now(&l), "B");
	minutes(&l, 70);
	FAKE_SCRIPT(&l.net, SILENT(NULL), SILENT(NULL), SILENT(NULL), SILENT(NULL));
	cr_expect_str_eq(id_now(&l), "none");
	FAKE_SCRIPT(&l.net, OK(NULL, KEYS("C")));
	cr_expect_str_eq(id_now(&l), "C");
	aws_credentials_drop(l.creds);
	FAKE_SCRIPT(&l.net, OK(NULL, KEYS("D")));
	cr_expect_str_eq(id_now(&l), "D");
	arena_free(&l.arena);
}

#define IMDS(id, time)                                                                   \
	OK("/api/token", "TOK"), OK("/security-credentials/", "role"),                   \
		OK("/role", KEYS_UNTIL(id, time))

/* When the metadata service cannot renew keys it hands out the old ones, and
 * the services take them: static stability. */
Test(credentials, expired_keys_of_the_instance_are_used_on)
{
	struct life l;

	open_life(&l, NULL);
	FAKE_SCRIPT(&l.net, IMDS("A", "2026-01-02T04:04:05Z"));
	cr_expect_str_eq(id_now(&l), "A");
	cr_expect(l.net.sent[0].no_proxy);
	cr_expect_str_eq(fake_header(&l.net.sent[2], "x-aws-ec2-metadata-token"), "TOK");
	minutes(&l, 120);
	FAKE_SCRIPT(&l.net, SILENT("/api/token"));
	cr_expect_str_eq(id_now(&l), "A");
	minutes(&l, 4);
	cr_expect_str_eq(id_now(&l), "A"); /* asked every five minutes only */
	cr_expect_eq(l.net.n_sent, 1);
	minutes(&l, 2);
	FAKE_SCRIPT(&l.net, IMDS("A", "2026-01-02T04:04:05Z"));
	cr_expect_str_eq(id_now(&l), "A");
	minutes(&l, 6);
	FAKE_SCRIPT(&l.net, IMDS("B", "2026-01-02T09:04:05Z"));
	cr_expect_str_eq(id_now(&l), "B");
	arena_free(&l.arena);
}

/* --- the region of the instance ------------------------------------------------ */

static const char *region_now(struct life *l, const struct fake_setting *settings)
{
	return aws_instance_region(&l->net.transport, fake_lookup,
				   (void *)(uintptr_t)settings, &l->arena);
}

Test(credentials, the_instance_says_where_it_is)
{
	static const struct fake_setting disabled[] = {
		{"AWS_EC2_METADATA_DISABLED", "true"}, {0}};
	struct life l;

	open_life(&l, NULL);
	FAKE_SCRIPT(&l.net, OK("/api/token", "TOK"),
		    OK("/latest/meta-data/placement/region", "eu-north-1\n"));
	cr_expect_str_eq(region_now(&l, NULL), "eu-north-1");
	cr_expect(l.net.sent[1].no_proxy);
	cr_expect_str_eq(fake_header(&l.net.sent[1], "x-aws-ec2-metadata-token"), "TOK");
	/* No such service, one that does not say, one that is not to be asked. */
	FAKE_SCRIPT(&l.net, SILENT("/api/token"));
	cr_expect_null(region_now(&l, NULL));
	cr_expect_eq(l.net.n_sent, 1, "most machines have none: one try");
	FAKE_SCRIPT(&l.net, OK("/api/token", "TOK"),
		    {"/placement/region", NET_ANSWERED, 404, "", {0}});
	cr_expect_null(region_now(&l, NULL));
	cr_expect_null(region_now(&l, disabled));
	cr_expect_eq(l.net.n_sent, 2);
	arena_free(&l.arena);
}
