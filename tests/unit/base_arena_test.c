#include "core/base/arena.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/secret.h"

struct note {
	char order[16];
	size_t n;
};

struct call {
	struct note *note;
	char name;
};

static void write_down(void *p)
{
	struct call *c = p;

	c->note->order[c->note->n++] = c->name;
}

struct nested {
	struct arena *arena;
	struct call call;
};

/* A release that itself registers another one. */
static void register_more(void *p)
{
	struct nested *n = p;

	arena_defer(n->arena, write_down, &n->call);
}

Test(arena, blocks)
{
	static const size_t sizes[] = {0, 1, 7, 16, 17, 4096, 20000, 1 << 20, 3 << 20};
	enum { N = sizeof(sizes) / sizeof(sizes[0]) };
	struct arena a;

	arena_init(&a, 0);
	cr_assert_eq(a.used, 0);
	cr_assert_null(a.chunk, "no memory before the first allocation");
	for (int round = 0; round < 3; round++) {
		unsigned char *p[N];

		for (size_t i = 0; i < N; i++) {
			p[i] = arena_alloc(&a, sizes[i]);
			cr_assert_eq((uintptr_t)p[i] % _Alignof(max_align_t), 0);
			for (size_t j = 0; j < sizes[i]; j++)
				cr_assert_eq(p[i][j], 0, "size %zu byte %zu", sizes[i],
					     j);
			memset(p[i], (int)i + 1, sizes[i]);
		}
		/* Nobody wrote into somebody else's block. */
		for (size_t i = 0; i < N; i++)
			for (size_t j = 0; j < sizes[i]; j++)
				cr_assert_eq(p[i][j], i + 1);
		cr_assert_neq(p[0], p[1], "a block of no bytes is unique");
		arena_reset(&a);
		cr_assert_eq(a.used, 0);
	}
	arena_free(&a);
	cr_assert_null(a.chunk);
	cr_assert_str_eq(arena_strdup(&a, "again"), "again", "usable after free");
	arena_free(&a);
}

Test(arena, strings_and_deferred_calls)
{
	struct arena a = {0};
	struct note note = {0};
	struct call calls[] = {{&note, 'a'}, {&note, 'b'}, {&note, 'c'}};
	struct nested nested = {&a, {&note, 'n'}};

	cr_assert_str_eq(arena_strndup(&a, "abcdef", 3), "abc");
	cr_assert_str_eq(arena_strndup(&a, "ab", 9), "ab");
	cr_assert_str_eq(arena_printf(&a, "%s-%03d", "x", 7), "x-007");
	cr_assert_eq(arena_array(&a, int, 4)[3], 0);

	arena_defer(&a, write_down, &calls[0]);
	arena_defer(&a, write_down, &calls[1]);
	arena_defer(&a, register_more, &nested);
	arena_defer(&a, write_down, &calls[2]);
	arena_reset(&a);
	cr_assert_str_eq(note.order, "cnba", "newest first, nested ones too");
	arena_reset(&a);
	cr_assert_eq(note.n, 4, "each exactly once");
	arena_defer(&a, write_down, &calls[0]);
	arena_free(&a);
	cr_assert_eq(note.n, 5);
}

Test(arena, secrets_are_wiped)
{
	struct arena a;
	char seen[8] = "";

	arena_init(&a, 0);
	const struct secret s = secret_dup(&a, "hunter2");
	cr_assert_str_eq(secret_reveal(s), "hunter2");
	cr_assert_null(secret_reveal(secret_dup(&a, NULL)));
#ifndef ARENA_SEPARATE
	/* The chunk is kept at reset, so the bytes may be looked at. */
	arena_reset(&a);
	memcpy(seen, secret_reveal(s), 7);
	cr_assert_str_empty(seen);
#endif
	(void)seen;
	arena_free(&a);
}

Test(arena, growth_past_the_cap_aborts, .signal = SIGABRT)
{
	struct arena a;

	arena_init(&a, 1 << 20);
	for (int i = 0; i < 1024; i++)
		arena_alloc(&a, 1 << 10);
	/* Exactly the cap was fine: the next byte is one too many. */
	arena_alloc(&a, 1);
	/* Not reached: this status is not the signal that is expected. */
	exit(0);
}

Test(arena, one_block_past_the_cap_aborts, .signal = SIGABRT)
{
	struct arena a = {0};

	arena_alloc(&a, (size_t)LIMIT_ARENA + 1);
	exit(0);
}

Test(arena, overflowing_product_aborts, .signal = SIGABRT)
{
	struct arena a = {0};
	volatile size_t many = SIZE_MAX / 2;

	arena_calloc(&a, many, 3);
	exit(0);
}

/* A face's unit ends where it began; nothing that was deferred is forgotten. */
Test(arena, growth_past_the_cap_goes_to_the_escape)
{
	jmp_buf escape;
	struct note note = {0};
	struct call released = {&note, 'r'};
	struct arena a;

	arena_init(&a, 4096);
	a.escape = &escape;
	if (setjmp(escape) == 0) {
		struct arena *child = arena_child(&a);

		arena_defer(child, write_down, &released);
		arena_alloc(child, 2048);
		arena_alloc(&a, 4000);
		cr_assert_fail("the cap was passed");
	}
	arena_reset(&a);
	cr_expect_eq(note.n, 1);
	cr_expect_eq(a.used, 0);
	if (setjmp(escape) == 0) {
		volatile size_t n = SIZE_MAX / 2;

		arena_calloc(&a, n, 3);
		cr_assert_fail("the product was passed");
	}
	arena_free(&a);
}

Test(arena, what_a_child_uses_counts_until_it_is_reset)
{
	struct arena a, *child;
	size_t before;

	arena_init(&a, 0);
	child = arena_child(&a);
	before = a.used;
	arena_alloc(child, 1000);
	cr_expect_geq(a.used, before + 1000);
	cr_expect_eq(arena_room(child), arena_room(&a));
	arena_reset(child);
	cr_expect_eq(a.used, before);
	arena_alloc(child, 1000);
	arena_free(child);
	cr_expect_eq(a.used, before);
	arena_free(&a);
}
