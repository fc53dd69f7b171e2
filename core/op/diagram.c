#include "core/base/buf.h"
#include "core/op/runner.h"

/* A colon or a line break would end a Mermaid label. */
static void add_label(struct buf *out, const char *text)
{
	for (; text && *text; text++)
		buf_addc(out, *text == ':' || *text == '\n' ? ' ' : *text);
}

static void add_step(const struct step *s, struct buf *out)
{
	buf_printf(out, "        %s : ", s->name);
	add_label(out, s->title ? s->title : s->name);
	if (s->spawn)
		buf_adds(out, " [stage]");
	else if (s->effect != EFFECT_READ)
		buf_printf(out, " [%s]", effect_class_name(s->effect));
	buf_addc(out, '\n');
}

/* Steps in a row that share a phase stand in one box. */
static void add_phases(const struct kind *k, struct buf *out)
{
	const char *phase = NULL;
	int n = 0;

	for (const struct step *s = k->steps; s->name; s++) {
		const char *mine = s->phase ? s->phase : "";

		if (!streq(phase, mine)) {
			if (phase)
				buf_adds(out, "    }\n");
			buf_printf(out, "    state \"%s\" as phase_%d {\n", mine, ++n);
			phase = mine;
		}
		add_step(s, out);
	}
	if (phase)
		buf_adds(out, "    }\n");
}

static void add_arrows(const struct kind *k, struct buf *out)
{
	for (const struct step *s = k->steps; s->name; s++) {
		const struct step *next = kind_step_after(k, s);

		if (s == k->steps)
			buf_printf(out, "    [*] --> %s\n", s->name);
		buf_printf(out, "    %s --> %s\n", s->name, next ? next->name : "[*]");
		if (s->retry_step)
			buf_printf(out, "    %s --> %s : retry\n", s->name,
				   s->retry_step);
	}
}

void kind_diagrams(const struct kind *const *kinds, struct buf *out)
{
	buf_adds(
		out,
		"# Operation kinds\n\n"
		"Made by `make docs` from the tables of steps. In brackets: how a repeat\n"
		"of the step's mutation is made safe (`core/op/kind.h`).\n");
	for (size_t i = 0; kinds[i]; i++) {
		buf_printf(out, "\n## %s\n\n%s.\n\n```mermaid\n", kinds[i]->name,
			   kinds[i]->title);
		kind_diagram(kinds[i], out);
		buf_adds(out, "```\n");
	}
}

void kind_diagram(const struct kind *k, struct buf *out)
{
	buf_adds(out, "stateDiagram-v2\n");
	add_phases(k, out);
	add_arrows(k, out);
}
