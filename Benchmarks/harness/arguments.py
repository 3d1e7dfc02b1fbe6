"""What a user may ask for on a command line."""

import argparse


def one_of(names):
    """A type for argparse: one of these names, written in any case."""
    known = {name.lower(): name for name in names}

    def name(text):
        if text.lower() not in known:
            raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(names)}")
        return known[text.lower()]

    return name


def rounds(text):
    """A type for argparse: how many rounds, at least one."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no number of rounds; the least is 1")
    return int(text)


def at_most(limit, wanted):
    """As many rounds as were wanted, but no more than that; says so where it is fewer."""
    if wanted > limit:
        print(f"  {limit} rounds instead of {wanted}: more would take long and tell little", flush=True)
    return min(limit, wanted)
