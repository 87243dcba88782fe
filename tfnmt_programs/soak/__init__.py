"""Soak tests: trainings and servers with injected faults, for any length of time, and a count of what was lost."""
