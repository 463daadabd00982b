"""Rows of bit planes as keys, and equal rows merged by them."""

import numpy as np

from cslearn._kernels import inner, outer

__all__ = ["keys_of_rows", "merge_keys", "place_keys", "rows_of_keys"]

_HASH = np.uint64(0x9E3779B97F4A7C15)


@inner
def _transpose(block):
    """Transpose 64 words of 64 bits in place: bit j of word i and bit i of word j change places."""
    width = 32
    mask = np.uint64(0x00000000FFFFFFFF)
    while width:
        shift = np.uint64(width)
        i = 0
        while i < 64:
            for k in range(i, i + width):
                swap = ((block[k] >> shift) ^ block[k + width]) & mask
                block[k] ^= swap << shift
                block[k + width] ^= swap
            i += 2 * width
        width //= 2
        mask ^= mask << np.uint64(width)


@outer
def keys_of_rows(planes, order, start, out):
    """Write the bits of rows, from word `start` on, as keys: the planes in their order, the first one highest.

    Parameters
    ----------
    planes : array of uint64, shape (planes, words)
    order : array of int, shape (planes,)
    start : int
        The first word; row 64 * start is the first row.
    out : array of uint64, shape (rows, ceil(planes / 64))
    """
    block = np.empty(64, np.uint64)
    for word in range((len(out) + 63) // 64):
        for part in range(out.shape[1]):
            block[:] = 0
            for i in range(min(64, len(order) - 64 * part)):
                block[63 - i] = planes[order[64 * part + i], start + word]
            _transpose(block)
            for r in range(min(64, len(out) - 64 * word)):
                out[64 * word + r, part] = block[r]


@outer
def rows_of_keys(keys, order, out):
    """Undo :func:`keys_of_rows`: fill the planes, shape (planes, ceil(rows / 64))."""
    block = np.empty(64, np.uint64)
    for word in range((len(keys) + 63) // 64):
        for part in range(keys.shape[1]):
            block[:] = 0
            for r in range(min(64, len(keys) - 64 * word)):
                block[r] = keys[64 * word + r, part]
            _transpose(block)
            for i in range(min(64, len(order) - 64 * part)):
                out[order[64 * part + i], word] = block[63 - i]


@inner
def _slot(key, keys, slots):
    mask = np.uint64(len(slots) - 1)
    mixed = np.uint64(0)
    for part in range(len(key)):
        mixed = (mixed ^ key[part]) * _HASH
        mixed ^= mixed >> np.uint64(32)
    at = mixed & mask
    while slots[at] >= 0:
        same = True
        for part in range(len(key)):
            same &= keys[slots[at], part] == key[part]
        if same:
            return at
        at = (at + np.uint64(1)) & mask
    return at


@outer
def place_keys(keys, n, slots):
    """Fill the empty hash table `slots` with the positions of the first n keys, all different."""
    for i in range(n):
        slots[_slot(keys[i], keys, slots)] = i


@outer
def merge_keys(new, weights, start, keys, sums, n, slots):
    """Add the weights of keys, from position `start` on, to those of equal keys; new keys are put behind the n known.

    Returns the position that was come to, less than the number of new keys if there is no more room, and how many keys
    are known then. `weights` may be empty: all are one.
    """
    for i in range(start, len(new)):
        at = _slot(new[i], keys, slots)
        if slots[at] < 0:
            if n == len(keys):
                return i, n
            keys[n] = new[i]
            sums[n] = 0.0
            slots[at] = n
            n += 1
        sums[slots[at]] += weights[i] if len(weights) else 1.0
    return len(new), n
