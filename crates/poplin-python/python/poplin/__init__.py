"""poplin: GPU compute cloth, with a CPU backend that computes the same result.

Units are SI throughout: metres, seconds, kilograms. Gravity points along -y unless you say otherwise.
"""

from ._batch import BatchResult, batch, sweep_jobs

__all__ = ["BatchResult", "batch", "sweep_jobs"]
