/* Tests of src/base/hash: values that files store, and the table of ids. */
#include "base/hash.h"
#include "check.h"

static void test_values(void)
{
	CHECK(hash_text("") == HASH_START);
	CHECK(hash_text("a") == 0xaf63dc4c8601ec8cu); /* from the authors' test vectors */
	CHECK(hash_text("foobar") == 0x85944171f73967e8u);
	CHECK(hash_bytes(hash_text("foo"), "bar", 3) == hash_text("foobar"));
	CHECK(hash_bytes(HASH_START, "a\0b", 3) != hash_text("a"));
}

static void test_blocks(void)
{
	char bytes[33] = {0};
	CHECK(hash_block(0, bytes, 0) == 0);
	for (size_t n = 1; n < sizeof bytes; n++) {
		CHECK(hash_block(0, bytes, n) != hash_block(0, bytes, n - 1));
		for (size_t k = 0; k < n; k++) {
			uint64_t zeros = hash_block(0, bytes, n);
			bytes[k] = 1;
			CHECK((uint32_t)hash_block(0, bytes, n) != (uint32_t)zeros);
			bytes[k] = 0;
		}
	}
	CHECK(hash_number(hash_number(0, 1), 2) != hash_number(hash_number(0, 2), 1));
}

/* Returns the number of ids with a hash, and their sum. */
static uint32_t count(const struct hash_table *t, uint64_t hash, uint32_t *sum)
{
	struct hash_probe p = {.hash = hash};
	uint32_t n = 0;
	*sum = 0;
	for (uint32_t id; (id = hash_next(t, &p)); n++)
		*sum += id;
	return n;
}

static void test_empty(void)
{
	struct hash_table t = {0}, copy;
	uint32_t sum;
	CHECK_EQ(count(&t, 0, &sum), 0);
	CHECK_EQ(count(&t, 7, &sum), 0);
	CHECK_EQ(hash_table_bytes(&t), 0);
	hash_table_copy(&copy, &t);
	CHECK(!copy.slot);
	hash_table_free(&t);
}

static void test_growth(void)
{
	enum { N = 100000 };
	struct hash_table t = {0}, copy;
	uint32_t sum;
	for (uint32_t id = 1; id <= N; id++) {
		hash_insert(&t, hash_number(0, id), id);
		CHECK(2 * (size_t)t.n <= (size_t)t.mask + 1);
	}
	CHECK_EQ(t.n, N);
	hash_table_copy(&copy, &t);
	hash_table_free(&t);
	CHECK(!t.slot && !t.n);
	for (uint32_t id = 1; id <= N; id++) {
		uint32_t n = count(&copy, hash_number(0, id), &sum);
		CHECK(n == 1 ? sum == id : n > 1);
	}
	CHECK_EQ(count(&copy, hash_number(1, 1), &sum), 0);
	hash_table_free(&copy);
}

static void test_collisions(void)
{
	struct hash_table t = {0};
	uint32_t sum;
	for (uint32_t id = 1; id <= 1000; id++) /* one hash, which also fills the slots after its own */
		hash_insert(&t, id <= 500 ? UINT32_MAX : id, id);
	CHECK_EQ(count(&t, UINT32_MAX, &sum), 500);
	CHECK_EQ(sum, 500 * 501 / 2);
	for (uint32_t id = 501; id <= 1000; id++) {
		CHECK_EQ(count(&t, id, &sum), 1);
		CHECK_EQ(sum, id);
	}
	CHECK_EQ(count(&t, 1001, &sum), 0);
	hash_table_free(&t);
}

int main(void)
{
	test_values();
	test_blocks();
	test_empty();
	test_growth();
	test_collisions();
	return check_result();
}
