/* sema_function: the operations that nvFuser gives other names.
 *
 *     fmax(T0…, T1…)                         maximum
 *     expf(T0…)                              exp, in float
 *     __half2float(T0…), __to_float(T0…)     cast
 *     (float)(T0…)                           cast */
#include "parse/nvfuser.h"
#include <stdio.h>
#include <string.h>

static bool has_word(const char *const *list, const char *text)
{
	while (*list && strcmp(*list, text))
		list++;
	return *list != NULL;
}

/* Returns the 2 between the dtypes in the name of a cast, `__half2float`; NULL: there is none. */
static const char *find_two(const char *name)
{
	const char *two = strncmp(name, "__", 2) ? NULL : strrchr(name + 2, '2');
	if (two && !two[1]) /* __float2e5m2, __float2int32 */
		for (two--; two > name + 2 && *two != '2';)
			two--;
	return two && two > name + 2 && *two == '2' ? two : NULL;
}

/* Returns true if a call converts between the dtypes in its name: __half2float, or to one: __to_float. */
static bool is_cast(const char *name)
{
	static const char *const from[] = {"half", "bfloat", "float", "double", "int",  "int32", "index",
	                                   "uint", "uint32", "bool",  "e4m3",   "e5m2", NULL},
	                         *const to[] = {"float", "double", "int8",   "int16",  "int32",
	                                        "int64", "uint8",  "uint16", "uint32", "uint64",
	                                        "index", "bool",   NULL};
	char left[16];
	if (*name == '(') /* (float)(T0…) */
		return true;
	if (!strncmp(name, "__to_", 5))
		return has_word(to, name + 5);
	const char *two = find_two(name);
	if (!two || two - name - 2 >= (ptrdiff_t)sizeof left)
		return false;
	memcpy(left, name + 2, (size_t)(two - name - 2));
	left[two - name - 2] = '\0';
	return has_word(from, left) && has_word(from, two + 1);
}

bool nv_dtype_word(const char *word, enum dtype *out)
{
	static const char *const forms[] = {"__%.20s", "%.20s_t", "%.20s"};
	char text[32];
	if (!strcmp(word, "int") || !strcmp(word, "index"))
		word = "int64";
	else if (!strcmp(word, "int32"))
		word = "int";
	for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
		snprintf(text, sizeof text, forms[i], word);
		if (dtype_parse_nvfuser(text, out))
			return true;
	}
	return false;
}

void nv_take_cast(struct nv_reader *r, ast_id expr, struct nv_tensor *result)
{
	const char *name = nv_is(r, expr, AST_CALL) ? ast_text(r->s->a, expr) : "";
	char text[24];
	enum dtype dtype;
	bool known;
	if (!is_cast(name))
		return;
	if (*name == '(') {
		snprintf(text, sizeof text, "%.*s", (int)strcspn(name + 1, ")"), name + 1);
		known = dtype_parse_nvfuser(text, &dtype);
	} else {
		known = nv_dtype_word(!strncmp(name, "__to_", 5) ? name + 5 : find_two(name) + 1, &dtype);
	}
	if (known)
		result->type = type_with_dtype(r->s->m, result->type, dtype);
}

enum op_kind nv_function(const char *name, unsigned operands)
{
	static const struct {
		const char *name;
		enum op_kind kind;
	} other[] = {{"fmax", OP_MAXIMUM},
	             {"fmin", OP_MINIMUM},
	             {"fabs", OP_ABS},
	             {"view", OP_RESHAPE},
	             {"Set", OP_SET},
	             {"SegmenterSet", OP_SET},
	             {"remainder", OP_MOD},
	             {"nearbyint", OP_ROUND},
	             {"nearbyintf", OP_ROUND},
	             {"bit_cast", OP_BITCAST},
	             {"erase_type", OP_BITCAST},
	             {"CpAsync", OP_SET},
	             {"CpAsyncBulk", OP_SET},
	             {"CpAsyncBulkTensorTile", OP_SET},
	             {"LdMatrix", OP_SET},
	             {"StMatrix", OP_SET},
	             {"LdTMem", OP_SET},
	             {"StTMem", OP_SET}};
	char plain[32];
	size_t n = strlen(name);
	if (operands > 1 && !strcmp(name, "max")) /* of integers */
		return OP_MAXIMUM;
	if (operands > 1 && !strcmp(name, "min"))
		return OP_MINIMUM;
	for (unsigned i = 0; i < sizeof other / sizeof *other; i++)
		if (!strcmp(name, other[i].name))
			return other[i].kind;
	if (is_cast(name))
		return OP_CAST;
	if (n < 2 || n > sizeof plain || name[n - 1] != 'f' || op_by_hir(name) != OP_NONE)
		return OP_NONE;
	memcpy(plain, name, n - 1); /* expf(T0) computes in float */
	plain[n - 1] = '\0';
	enum op_kind kind = op_by_hir(plain);
	return op_info[kind].traits & TRAIT_POINTWISE ? kind : OP_NONE;
}
