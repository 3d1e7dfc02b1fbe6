"""Comparisons of measurements that follow each other, so that what drifts on the machine cancels out."""

from statistics import quantiles

# Half of the 95 % interval of a median, in distances of the quartiles ÷ √n: 1.96 standard errors; a median's is 1.253 times that of a
# mean, and the quartiles of a normal distribution are 1.349 standard deviations apart. 1.82 in all.
MEDIAN_95 = 1.96 * 1.253 / 1.349
SPREAD = "±: the 95 % interval of the median, as far as the spread within this session tells. Sessions on the same machine can differ by more."
RATIOS = "A ratio is the median of the ratios of runs that follow each other, which is not the ratio of the two medians."


class Paired:
    """The median of paired ratios or differences, half of its 95 % interval, and the quartiles."""

    def __init__(self, values, digits):
        self.digits = digits
        self.low, self.middle, self.high = quantiles(values, n=4) if len(values) > 1 else values * 3
        self.sure = MEDIAN_95 * (self.high - self.low) / len(values) ** 0.5

    @classmethod
    def ratio(cls, reports, others, key):
        """Of a figure in the reports of two that took turns."""
        return cls([one[key] / other[key] for one, other in zip(reports, others)], 2)

    @classmethod
    def difference(cls, reports, others, key):
        return cls([one[key] - other[key] for one, other in zip(reports, others)], 1)

    def __str__(self):
        return f"{self.middle:.{self.digits}f} ± {self.sure:.{self.digits}f}"

    @property
    def quartiles(self):
        return f"{self.low:.{self.digits}f} … {self.high:.{self.digits}f}"

    def at_least(self, limit):
        """Whether it is; None where the limit lies within the interval."""
        return None if abs(self.middle - limit) < self.sure else self.middle >= limit

    def at_most(self, limit):
        return None if abs(self.middle - limit) < self.sure else self.middle <= limit
