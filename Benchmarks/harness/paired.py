"""Comparisons of measurements that follow each other, so that what drifts on the machine cancels out."""

from statistics import quantiles


class Paired:
    """The median of paired ratios or differences, the half of the range that 95 of 100 repetitions would fall into, and the quartiles."""

    def __init__(self, values, digits):
        self.digits = digits
        self.low, self.middle, self.high = quantiles(values, n=4) if len(values) > 1 else values * 3
        # The notch of a box plot.
        self.sure = 1.57 * (self.high - self.low) / len(values) ** 0.5

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
        """Whether it is; None where the limit lies within what the measurement cannot tell."""
        return None if abs(self.middle - limit) < self.sure else self.middle >= limit

    def at_most(self, limit):
        return None if abs(self.middle - limit) < self.sure else self.middle <= limit
