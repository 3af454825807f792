"""Peak rates of a GPU, at its highest clock: no measurement can be above them.

A figure above a peak is an error of the measurement, not a fast program: ranks that were timed each by itself, or work
that was not waited for.
"""
# Products of bf16 with sums in f32: operations of a multiprocessor in a clock, by compute capability.
PRODUCTS = {(8, 0): 2048, (8, 6): 512, (8, 9): 1024, (9, 0): 4096, (10, 0): 8192, (10, 3): 8192}
# Numbers of the driver's attributes; cuDeviceGetAttribute.
ATTRIBUTES = {"clock_khz": 13, "multiprocessors": 16, "memory_khz": 36, "memory_bits": 37, "major": 75, "minor": 76}


class Peaks:
    """flops: operations a second of products of bf16. bytes: bytes a second of the memory. None: not known."""

    def __init__(self, found):
        """found: values of ATTRIBUTES by name, None where the driver has none."""
        each = PRODUCTS.get((found.get("major"), found.get("minor")))
        clock, processors = found.get("clock_khz"), found.get("multiprocessors")
        memory, bits = found.get("memory_khz"), found.get("memory_bits")
        self.flops = each * clock * 1e3 * processors if each and clock and processors else None
        self.bytes = 2 * memory * 1e3 * bits / 8 if memory and bits else None

    def above(self, us, flops=0, moved=0):
        """Returns the error of a time in which so much was computed and moved; None: it is possible."""
        if self.flops and flops > self.flops * us * 1e-6:
            return (f"error of the measurement: {flops / us * 1e-6:.0f} Tflop/s, but the device computes at most "
                    f"{self.flops * 1e-12:.0f}")
        if self.bytes and moved > self.bytes * us * 1e-6:
            return (f"error of the measurement: {moved / us * 1e-3:.0f} GB/s, but the device moves at most "
                    f"{self.bytes * 1e-9:.0f}")
        return None
