"""Ratios of measurements that follow each other, so that what drifts on the machine cancels out."""

from statistics import quantiles


class Ratio:
    """The median of paired ratios, the half of the range that 95 of 100 repetitions would fall into, and the quartiles."""

    def __init__(self, shares):
        self.low, self.middle, self.high = quantiles(shares, n=4) if len(shares) > 1 else shares * 3
        # The notch of a box plot.
        self.sure = 1.57 * (self.high - self.low) / len(shares) ** 0.5

    @classmethod
    def of(cls, reports, others, key):
        """Of a figure in the reports of two that took turns."""
        return cls([one[key] / other[key] for one, other in zip(reports, others)])

    def __str__(self):
        return f"{self.middle:.2f} ± {self.sure:.2f}"

    @property
    def quartiles(self):
        return f"{self.low:.2f} … {self.high:.2f}"

    def at_least(self, limit):
        """Whether it is; None where the limit lies within what the measurement cannot tell."""
        return None if abs(self.middle - limit) < self.sure else self.middle >= limit

    def at_most(self, limit):
        return None if abs(self.middle - limit) < self.sure else self.middle <= limit
