#include "fcgi/metrics.h"

#include <string.h>
#include <sys/mman.h>

#include "core/base/counters.h"
#include "gen/queries.h"

/* Upper ends of the buckets, in microseconds and as Prometheus writes them. */
static const struct {
	int64_t us;
	const char *le;
} buckets[METRICS_BUCKETS] = {
	{500, "0.0005"},  {1000, "0.001"},  {2500, "0.0025"}, {5000, "0.005"},
	{10000, "0.01"},  {25000, "0.025"}, {100000, "0.1"},  {500000, "0.5"},
	{2500000, "2.5"}, {10000000, "10"},
};

static const char *const faces[METRICS_FACES] = {"rest", "mcp", "console", "other"};

struct metrics *metrics_new(void)
{
	void *p = mmap(NULL, sizeof(struct metrics), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void metrics_request(struct metrics *m, enum metrics_face face, int status, int64_t us)
{
	const int class = status / 100;
	size_t i = 0;

	atomic_fetch_add(
		&m->requests[face][class > 0 && class < METRICS_CLASSES ? class : 0], 1);
	while (i < METRICS_BUCKETS && us > buckets[i].us)
		i++;
	atomic_fetch_add(&m->bucket[i], 1);
	atomic_fetch_add(&m->total_us, (uint64_t)us);
}

static void counter(struct buf *out, const char *name, const char *help,
		    const _Atomic uint64_t *value)
{
	buf_printf(out, "# HELP instantstart_%s %s\n# TYPE instantstart_%s counter\n",
		   name, help, name);
	buf_printf(out, "instantstart_%s %llu\n", name,
		   (unsigned long long)atomic_load(value));
}

static void requests(const struct metrics *m, struct buf *out)
{
	buf_adds(
		out,
		"# HELP instantstart_requests_total Responses by face and status class.\n# "
		"TYPE instantstart_requests_total counter\n");
	for (int f = 0; f < METRICS_FACES; f++)
		for (int c = 1; c < METRICS_CLASSES; c++)
			buf_printf(
				out,
				"instantstart_requests_total{face=\"%s\",status=\"%dxx\"} "
				"%llu\n",
				faces[f], c,
				(unsigned long long)atomic_load(&m->requests[f][c]));
}

static void durations(const struct metrics *m, struct buf *out)
{
	unsigned long long sum = 0;

	buf_adds(out, "# HELP instantstart_request_seconds Time in a worker.\n"
		      "# TYPE instantstart_request_seconds histogram\n");
	for (int i = 0; i <= METRICS_BUCKETS; i++) {
		sum += (unsigned long long)atomic_load(&m->bucket[i]);
		buf_printf(out, "instantstart_request_seconds_bucket{le=\"%s\"} %llu\n",
			   i < METRICS_BUCKETS ? buckets[i].le : "+Inf", sum);
	}
	buf_printf(out,
		   "instantstart_request_seconds_sum %.6f\n"
		   "instantstart_request_seconds_count %llu\n",
		   (double)atomic_load(&m->total_us) / 1e6, sum);
}

/* Rows that share a metric stand together. */
static void journal(const struct db_rows *rows, struct buf *out)
{
	const char *last = "";

	for (int i = 0; i < rows->n; i++) {
		const char *metric = db_text(rows, i, "metric");
		const char *label = db_text(rows, i, "label");

		if (strcmp(metric, last) != 0)
			buf_printf(out, "# TYPE instantstart_%s gauge\n", metric);
		last = metric;
		buf_printf(out, "instantstart_%s", metric);
		if (*label)
			buf_printf(out, "{label=\"%s\"}", label);
		buf_printf(out, " %lld\n", (long long)db_int(rows, i, "value"));
	}
}

void metrics_text(const struct metrics *m, int in_line, struct db *db,
		  const char *run_dir, struct arena *a, struct buf *out)
{
	struct db_rows rows;
	struct err e = {0};
	bool up;

	requests(m, out);
	durations(m, out);
	counter(out, "parked_total", "Requests passed to instantstart-live.", &m->parked);
	counter(out, "slow_total", "Requests passed to the slow pool.", &m->slow);
	buf_printf(
		out,
		"# HELP instantstart_slow_line Requests that call the cloud, running or waiting.\n# TYPE instantstart_slow_line gauge\n"
		"instantstart_slow_line %d\n",
		in_line);
	counter(out, "refused_sign_ins_total", "Failed sign-ins (invalid link or token).",
		&m->refused_sign_ins);
	counter(out, "worker_starts_total", "Workers started.", &m->worker_starts);
	counter(out, "worker_deaths_total", "Workers that ended unexpectedly.",
		&m->worker_deaths);
	counters_text(run_dir, "live", out);
	up = db_query(db, a, &Q_metrics, NULL, 0, &rows, &e);
	buf_printf(out,
		   "# TYPE instantstart_database_up gauge\ninstantstart_database_up %d\n",
		   up);
	if (up)
		journal(&rows, out);
}
