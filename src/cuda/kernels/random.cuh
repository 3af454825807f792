/* random: the numbers of UNIFORM, by Philox4x32-10; see rt/device.h. Last of the prelude. */

/* The words of a group, for elements that follow one another. At first group is NO_GROUP. */
struct words {
	u64 group;
	u32 x[4];
};
#define NO_GROUP (~(u64)0)
DEVICE void find_words(struct words *w, u64 group, u64 seed, u64 offset)
{
	if (w->group == group)
		return;
	u32 x0 = (u32)offset, x1 = (u32)(offset >> 32), x2 = (u32)group, x3 = (u32)(group >> 32);
	u32 a = (u32)seed, b = (u32)(seed >> 32);
	LOOP (round, 10) {
		u64 p = (u64)x0 * 0xD2511F53u, q = (u64)x2 * 0xCD9E8D57u;
		x0 = (u32)(q >> 32) ^ x1 ^ a;
		x1 = (u32)q;
		x2 = (u32)(p >> 32) ^ x3 ^ b;
		x3 = (u32)p;
		a += 0x9E3779B9u;
		b += 0xBB67AE85u;
	}
	w->group = group;
	w->x[0] = x0;
	w->x[1] = x1;
	w->x[2] = x2;
	w->x[3] = x3;
}
/* exact: a float has all integers up to it. */
DEVICE f32 uniform_f32(struct words *w, u64 number, u64 seed, u64 offset, int exact)
{
	find_words(w, number / 4, seed, offset);
	u32 low = number & 1 ? w->x[1] : w->x[0], high = number & 1 ? w->x[3] : w->x[2];
	return (f32)((u64)(number & 2 ? high : low) * (u32)exact >> 32) / (f32)exact;
}
DEVICE f64 uniform_f64(struct words *w, u64 number, u64 seed, u64 offset)
{
	find_words(w, number / 2, seed, offset);
	u32 low = number & 1 ? w->x[2] : w->x[0], high = number & 1 ? w->x[3] : w->x[1];
	return (f64)(((u64)high << 32 | low) >> 11) / 9007199254740992.0;
}
