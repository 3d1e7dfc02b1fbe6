"""Starts the load programs and their peers, and turns what they print into tables."""
