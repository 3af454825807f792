/* head: the first fields of the arguments of every kernel, as struct kernel_head. Numbers of faults follow,
 * of RT_FAULTS. */

/* what every kernel begins with */
struct fault {
	u32 kind, label;
	i64 value, iteration, limit;
};
struct head {
	struct fault *fault;
	u64 *scratch;
	i64 label, iteration;
};
