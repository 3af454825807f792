/* head: the first fields of the arguments of every kernel, as struct kernel_head. The numbers of RT_FAULTS
 * follow. */

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
