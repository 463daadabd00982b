"""The compiled loops, one small file each: arrays in and arrays out. Compiled when first used, and kept on disk."""

__all__ = ["are_compiled"]


def are_compiled() -> bool:
    """Tell whether the kernels of the order search have been compiled on this machine before."""
    from pathlib import Path

    from cslearn._kernels import relocation

    return any(Path(str(relocation.run.stats.cache_path)).glob("relocation.run-*.nbi"))
