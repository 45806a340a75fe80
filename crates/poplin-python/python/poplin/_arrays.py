"""Conversion of arrays and settings for the native half."""

from __future__ import annotations

import json
from typing import Any, Mapping

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.uint32]
Ids = npt.NDArray[np.uint64]


def floats(name: str, values: npt.ArrayLike, *shape: int | None) -> Floats:
    """Returns finite float32 values of this shape, where None is any length. Raises ValueError that names the argument."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} must be numbers, not {array.dtype}")
    check_shape(name, array, shape)
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(array, dtype=np.float32)
    if not np.isfinite(array).all():
        first = tuple(int(index) for index in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}[{', '.join(map(str, first))}] = {array[first]} is not finite")
    return array


def indices(name: str, values: npt.ArrayLike, *shape: int | None) -> Ints:
    """Returns uint32 indices of this shape, where None is any length. Raises ValueError that names the argument."""
    array = np.asarray(values)
    if array.size == 0 and array.ndim == len(shape):
        array = array.astype(np.uint32)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers, not {array.dtype}")
    check_shape(name, array, shape)
    if array.size and not 0 <= int(array.min()) <= int(array.max()) < 2**32 - 1:
        raise ValueError(f"{name} must be 0 or more, not {array.min()} to {array.max()}")
    return np.ascontiguousarray(array, dtype=np.uint32)


def check_shape(name: str, array: npt.NDArray[Any], shape: tuple[int | None, ...]) -> None:
    """Raises ValueError if an array has a different shape."""
    fits = len(shape) == array.ndim and all(b is None or a == b for a, b in zip(array.shape, shape))
    if not fits:
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"{name} must have the shape [{wanted}], not {list(array.shape)}")


def rows(name: str, values: npt.ArrayLike, count: int, width: int) -> Floats:
    """Returns `count` rows of this width, from one row for all or one row each."""
    array = np.asarray(values)
    if array.ndim == 2:
        return floats(name, array, count, width)
    return np.broadcast_to(floats(name, array, width), (count, width))


def poses(translation: npt.ArrayLike | None, rotation: npt.ArrayLike | None, count: int) -> bytes:
    """Returns the bytes of translations and rotations, by default identity."""
    moved = rows("translation", (0, 0, 0) if translation is None else translation, count, 3)
    turned = rows("rotation", (0, 0, 0, 1) if rotation is None else rotation, count, 4)
    return np.concatenate([moved, turned], axis=1).tobytes()


def text(keys: Mapping[str, Any] | None) -> str:
    """Returns settings as JSON, including numbers and arrays of NumPy."""
    try:
        return json.dumps(dict(keys or {}), default=_plain, allow_nan=False)
    except TypeError as error:
        raise ValueError(f"settings: {error}") from None
    except ValueError:
        raise ValueError("settings: a number is not finite") from None


def _plain(value: object) -> object:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be the value of a setting")
