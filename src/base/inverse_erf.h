/* inverse_erf: the inverses of erf and erfc in f64, by Halley's method. Include <math.h> before it. Kernels that the
 * host runs have this text, too; CUDA has functions of its own. */

#if !defined(HIRC_BASE_INVERSE_ERF_H) && !defined(__CUDACC__)
#define HIRC_BASE_INVERSE_ERF_H

/* Returns y with erf(y) = x, for x in 0 … 0.5. */
static inline double inverse_erf_middle(double x)
{
	double y =
	    0.88622692545275801 * x * (1 + x * x * (0.26179938779914944 + 0.14393173084921979 * x * x));
	for (int i = 0; i < 2; i++) {
		double off = (erf(y) - x) * 0.88622692545275801 * exp(y * y);
		y -= off / (1 + off * y);
	}
	return y;
}

/* Returns y with erfc(y) = q, for q in 0 … 0.5. erfc of a large y has too few bits; its logarithm has a series. */
static inline double inverse_erf_tail(double q)
{
	if (q == 0)
		return 1 / fabs(q);
	double t = sqrt(2 * (0.69314718055994531 - log(q))), y;
	y = 2.515517 + t * (0.802853 + t * 0.010328);
	y = 0.70710678118654752 * (t - y / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
	for (int i = 0; i < 3; i++) {
		double z = 0.5 / (y * y), off;
		if (q < 1e-280) {
			double rest =
			    log(y * 1.7724538509055160 / (1 - z * (1 - z * 3 * (1 - z * 5 * (1 - z * 7)))));
			off = (-log(q) - rest - y * y) * 0.5 / (y + z * y);
			y += off;
		} else {
			off = (erfc(y) - q) * -0.88622692545275801 * exp(y * y);
			y -= off / (1 + off * y);
		}
	}
	return y;
}

static inline double inverse_erf(double x)
{
	double y = fabs(x);
	return copysign(y <= 0.5 ? inverse_erf_middle(y) : inverse_erf_tail(1 - y), x);
}

static inline double inverse_erfc(double p)
{
	return p < 0.5 ? inverse_erf_tail(p) : p > 1.5 ? -inverse_erf_tail(2 - p) : inverse_erf(1 - p);
}

#endif
