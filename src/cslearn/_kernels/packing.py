"""Columns of codes as bit planes: packing, unpacking, moving rows, comparing with a code, and finding known values.

Plane b of a column holds bit b of its codes, row r in bit r % 64 of word r // 64. Every loop is linear in the rows.
"""

import numpy as np

from cslearn._kernels import inner, outer

__all__ = [
    "append_bits",
    "exceeds",
    "find_known",
    "insert_known",
    "keep_bits",
    "mark_equal",
    "pack_codes",
    "translate",
    "unpack_codes",
]

_ONE = np.uint64(1)
_HASH = np.uint64(0x9E3779B97F4A7C15)  # odd, near 2^64 over the golden ratio


@outer
def pack_codes(codes, out):
    """Write codes, shape (n,), into planes, shape (width, at least n / 64); bits past n become zero."""
    n = len(codes)
    for plane in range(len(out)):
        shift = np.uint64(plane)
        for word in range(n // 64):
            bits = np.uint64(0)
            base = word * 64
            for r in range(64):
                bits |= ((np.uint64(codes[base + r]) >> shift) & _ONE) << np.uint64(r)
            out[plane, word] = bits
        out[plane, n // 64 :] = 0
        for r in range(n % 64):
            bit = (np.uint64(codes[n - n % 64 + r]) >> shift) & _ONE
            out[plane, n // 64] |= bit << np.uint64(r)


@outer
def unpack_codes(planes, start, out):
    """Read the codes of the rows from `start` on, as many as `out` has room for."""
    for i in range(len(out)):
        word, r = (start + i) // 64, np.uint64((start + i) % 64)
        code = np.uint64(0)
        for plane in range(len(planes)):
            code |= ((planes[plane, word] >> r) & _ONE) << np.uint64(plane)
        out[i] = code


@outer
def append_bits(source, n, out, at):
    """Write the first n bits of `source` into `out` from bit `at` on, where `out` is zero; past n `source` is zero."""
    first, shift = at // 64, np.uint64(at % 64)
    words = (n + 63) // 64
    if shift == 0:
        out[first : first + words] = source[:words]
        return
    for word in range(words):
        out[first + word] |= source[word] << shift
        rest = source[word] >> (np.uint64(64) - shift)
        if rest:
            out[first + word + 1] |= rest


@outer
def keep_bits(source, kept, out):
    """Write the bits of `source` at which `kept` has one side by side into `out`, which is zero."""
    at = 0
    for word in range(len(kept)):
        left = kept[word]
        bits = source[word]
        while left:
            low = left & (~left + _ONE)
            if bits & low:
                out[at // 64] |= _ONE << np.uint64(at % 64)
            at += 1
            left ^= low


@outer
def mark_equal(planes, code, out):
    """Set the bits of `out`, shape (words,), of the rows in which a column has this code."""
    for word in range(len(out)):
        same = ~np.uint64(0)
        for plane in range(len(planes)):
            bits = planes[plane, word]
            same &= bits if (code >> plane) & 1 else ~bits
        out[word] |= same


@outer
def exceeds(planes, last):
    """Tell whether any code of a column is larger than `last`."""
    for word in range(planes.shape[1]):
        larger, same = np.uint64(0), ~np.uint64(0)
        for plane in range(len(planes) - 1, -1, -1):
            bits = planes[plane, word]
            if (last >> plane) & 1:
                same &= bits
            else:
                larger |= same & bits
                same &= ~bits
        if larger:
            return True
    return False


@inner
def _slot(key, keys, codes):
    """Return where a key is in a hash table with room for a power of two, or where it belongs."""
    mask = np.uint64(len(keys) - 1)
    at = (key * _HASH) >> np.uint64(40) & mask
    while codes[at] >= 0 and keys[at] != key:
        at = (at + _ONE) & mask
    return at


@outer
def find_known(values, valid, missing, keys, codes, start, out):
    """Write the codes of values, from position `start` on, until one is met that the hash table does not know.

    Parameters
    ----------
    values : array of unsigned integers, shape (n,)
        The bits of the cells.
    valid : array of bool, shape (n,) or (0,)
        Which cells are not missing; empty if none is.
    missing : int
        The code of a missing cell.
    keys, codes : array of uint64, array of int32
        The hash table; a negative code is an empty slot, and there is at least one.
    start : int
        Where to begin.
    out : array of uint16, shape (n,)

    Returns
    -------
    int
        The position of the first unknown value, or n.
    """
    for i in range(start, len(values)):
        if len(valid) and not valid[i]:
            out[i] = missing
            continue
        at = _slot(np.uint64(values[i]), keys, codes)
        if codes[at] < 0:
            return i
        out[i] = codes[at]
    return len(values)


@outer
def insert_known(new_key, new_code, keys, codes):
    """Put a key with its code into the hash table of :func:`find_known`."""
    at = _slot(np.uint64(new_key), keys, codes)
    keys[at] = new_key
    codes[at] = new_code


@outer
def translate(indices, valid, missing, table, start, out):
    """Write ``table[indices]``, from position `start` on, until a negative number is met there; see above."""
    for i in range(start, len(indices)):
        if len(valid) and not valid[i]:
            out[i] = missing
            continue
        code = table[indices[i]]
        if code < 0:
            return i
        out[i] = code
    return len(indices)
