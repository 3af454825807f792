/* concave: finds the largest value of a concave function. */
#ifndef HIRC_SCHED_CONCAVE_H
#define HIRC_SCHED_CONCAVE_H
#include <math.h>

/* Returns about the largest value(of, x) for x from 0 to 1, and never more than the function has. */
static inline double concave_most(double (*value)(void *of, double x), void *of)
{
	enum { STEPS = 40 }; /* each takes a third off the range */
	double low = 0, high = 1, most = fmax(value(of, low), value(of, high));
	for (unsigned k = 0; k < STEPS; k++) {
		double third = (high - low) / 3, x = value(of, low + third), y = value(of, high - third);
		most = fmax(most, fmax(x, y));
		if (x < y)
			low += third;
		else
			high -= third;
	}
	return most;
}

#endif
