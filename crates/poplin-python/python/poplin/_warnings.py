"""Warnings about cloths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class PoplinWarning(UserWarning):
    """Reason to doubt the behavior of a cloth. Its message is `text`."""

    kind: str
    """Stable name in snake case, "odd_size"."""
    subject: str
    """Name of the cloth or collider, empty for a whole scene."""
    value: float | None
    """Number that gave rise to the warning; `text` has its unit."""
    limit: float | None
    """Number that `value` is compared with."""
    text: str
    """The problem, where it is, its limit, and a remedy."""
    record: Mapping[str, Any]
    """All fields, as in `warnings` of summary.json."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        super().__init__(record["text"])
        self.record = record
        self.kind, self.subject, self.text = record["kind"], record["subject"], record["text"]
        self.value, self.limit = record["value"], record["limit"]
