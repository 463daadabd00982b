"""Where data sets come from, and how their cells are checked.

A table is the same whether it comes as CSV, as gzipped CSV or as a data frame of R. So it is not the bytes of a file
that are compared with a checksum but the cells: the SHA-256 of the table written as CSV, with its header, commas and
line feeds. Networks and rows of 0 and 1 are compared as text.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import error as ZlibError

from cslearn.errors import FileError, MissingExtraError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SACHS_CONDITIONS", "SOURCES", "Source", "fetch", "fetch_from", "text_of"]

# Rows of the nine experiments, in the order of the file; the first 853 are those of the general stimulus alone.
SACHS_CONDITIONS = (
    ("cd3cd28", 853),
    ("cd3cd28icam2", 902),
    ("cd3cd28+aktinhib", 911),
    ("cd3cd28+g0076", 723),
    ("cd3cd28+psitect", 810),
    ("cd3cd28+u0126", 799),
    ("cd3cd28+ly", 848),
    ("pma", 913),
    ("b2camp", 707),
)
MUSHROOM_COLUMNS = [
    "class",
    "cap-shape",
    "cap-surface",
    "cap-color",
    "bruises",
    "odor",
    "gill-attachment",
    "gill-spacing",
    "gill-size",
    "gill-color",
    "stalk-shape",
    "stalk-root",
    "stalk-surface-above-ring",
    "stalk-surface-below-ring",
    "stalk-color-above-ring",
    "stalk-color-below-ring",
    "veil-type",
    "veil-color",
    "ring-number",
    "ring-type",
    "spore-print-color",
    "population",
    "habitat",
]
CAR_COLUMNS = ["buying", "maint", "doors", "persons", "lug_boot", "safety", "class"]


# ---------------------------------------------------------------- from the bytes of a file to a table
def read_csv(content: bytes, **options: Any) -> pd.DataFrame:
    """Read CSV as it is: every cell a string, nothing missing, gzipped or not."""
    import pandas as pd

    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    return pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False, **options)


def _headless(columns: list[str]) -> Callable[[bytes], pd.DataFrame]:
    return lambda content: read_csv(content, header=None, names=columns)


def _spaced(content: bytes) -> pd.DataFrame:
    return read_csv(content, sep=r"\s+")


def _with_conditions(content: bytes) -> pd.DataFrame:
    frame = read_csv(content)
    conditions = [name for name, rows in SACHS_CONDITIONS for _ in range(rows)]
    if len(frame) != len(conditions):
        raise ValueError(f"it has {len(frame)} rows where {len(conditions)} are expected")
    return frame.assign(condition=conditions)


def _from_r(content: bytes) -> pd.DataFrame:
    """Return the one data frame of an R file, its factors as strings."""
    import warnings

    rdata = _optional("rdata")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that it has no converter for: the columns matter alone
        (frame,) = rdata.conversion.convert(rdata.parser.parse_data(content)).values()
    return frame.astype(str).reset_index(drop=True)


def text_of(content: bytes) -> str:
    """Return the text of a file, gzipped or not."""
    return (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode("utf-8")


@dataclass(frozen=True)
class Source:
    """Where a table or network comes from.

    Parameters
    ----------
    file : str
        Its name in the directory ``CSLEARN_DATA``.
    urls : tuple of str
        Public addresses, tried one after the other.
    sha256 : str
        Checksum of the cells, or of the text; empty if it is not known.
    convert : callable
        Makes a table, or a text, of the bytes that come from `urls`.
    tabular : bool
        Whether `file` is CSV with a header, whatever comes from `urls`. Otherwise both are of one format.
    package : tuple of str, optional
        A package that has the file too, where it is installed, and the path in it.
    """

    file: str
    urls: tuple[str, ...]
    sha256: str
    convert: Callable[[bytes], Any] = read_csv
    tabular: bool = True
    package: tuple[str, str] | None = None

    def local(self, content: bytes) -> Any:
        """Return what a file of ``CSLEARN_DATA`` holds."""
        return read_csv(content) if self.tabular else self.convert(content)


_BNLEARN = "https://raw.githubusercontent.com/cran/bnlearn/5.2.1/data/"
_STAGEDTREES = "https://raw.githubusercontent.com/cran/stagedtrees/2.3.0/data/"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
_UCI_MIRROR = "https://github.com/mikeizbicki/datasets/raw/ea5a06d19c/csv/uci/"
_NETWORKS = {
    "alarm": "701e6c561f71b55669070c29614f0724b761289aa2c4a35bcc97b638ee881fa2",
    "andes": "2330f233405fbbdf2a485651edd4130d3d09f816e81cb7056842ae6021edabe4",
    "asia": "9f770c96940dc4d860b581602120790ac538983b30b28d38631b8184dc7b5f89",
    "cancer": "05d4ea00a758450eed6fe68ea6de4da05ce0e3e919bd3e8ff7f0bc80a1db4b48",
    "child": "432c22e661cd0e8235c8d95599ac22ccc261002459f5c4e6e7235b057908fe6e",
    "earthquake": "74dd131e2c6437a39de17f2963d2d16fadd91e70450d1fc20501df05e8dc4f2e",
    "hailfinder": "cf09960af33dd643771c61e23a89c7815448047f335ffa9ba7d57359bc755548",
    "hepar2": "d70ffdcc3b698235002898344c98d9645beb277969f29ba7af6f11d7db3f16cc",
    "insurance": "39f9e706e9208e720a55a98b6811188b33a7292335a53373a9343a0c7065dab4",
    "pigs": "1d474376703784f755048daa0fd1ce0be89b5676254e08256c3424e3e4caf805",
    "sachs": "b7bd3931192f9e529f0f88bba15fca6cc61ba3c805d5c8ae57eba57ed3b332ec",
    "survey": "3698ccc0f1f74b9f935617d91989e4cdb39edb5360b558216af64047fc88b3b0",
    "win95pts": "14d2195e0c4613e0beb1f06e9199c8cd39a1154171a215c38b47c0fd773d0b36",
}
SOURCES = {
    "alarm": Source(
        "alarm.csv.gz",
        (_BNLEARN + "alarm.rda",),
        "f6dcfb84a51ad790cabc449250c448ca88bdf222d8fc3e41efe02ac77acfb6e8",
        _from_r,
    ),
    "asia": Source(
        "asia.csv",
        (_BNLEARN + "asia.rda",),
        "95339f7cb30ecae229d22f5b901fa8edc0999834a6670ccdf8bc036142530135",
        _from_r,
    ),
    "asym": Source(
        "st_Asym.csv",
        (_STAGEDTREES + "Asym.RData",),
        "3131d2c1ebeefef1c4de4b3d4e45b37a216472f1deb016bfa7c020c2f757b5e6",
        _from_r,
    ),
    "car": Source(
        "car.csv",
        (_UCI + "car/car.data", _UCI_MIRROR + "car.data"),
        "0023b86e0dd3502aaa0e4a610ef4d8aebbba7ff40f53fa7c2f0543c68bee5114",
        _headless(CAR_COLUMNS),
    ),
    "chds": Source(
        "chds.csv",
        ("https://github.com/gherardovarando/simple_stagedtrees/raw/3cadb6f086/data/chds.RData",),
        "b03b43889f01a8c29c672046d1be829b4dc30fd15858ad037b3b282f78afad49",
        _from_r,
    ),
    "coronary": Source(
        "coronary.csv",
        (_BNLEARN + "coronary.rda",),
        "088d8f993673e93e40fa50b577e7632c943700653e4a6850c034972ac1c16fb1",
        _from_r,
    ),
    "lizards": Source(
        "lizards.csv",
        (_BNLEARN + "lizards.rda",),
        "70cbeb4be5ed03bf5ef9672c3b834ea6c1ed8d9c6227ebd3e9c2076acee3c461",
        _from_r,
    ),
    "mushroom": Source(
        "mushroom.csv.gz",
        (_UCI + "mushroom/agaricus-lepiota.data", _UCI_MIRROR + "agaricus-lepiota.data"),
        "7204d38399e2c7c84d85e7a2019081724bb943613e82be5d3523156cfbcf9f64",
        _headless(MUSHROOM_COLUMNS),
    ),
    "phd-articles": Source(
        "st_PhDArticles.csv",
        (_STAGEDTREES + "PhDArticles.RData",),
        "72f65726fca5f7535d3563796ff3256c13a9b0140a1f24190a6f41b21f96cf6f",
        _from_r,
    ),
    "sachs-observational": Source(
        "sachs_observational_log.csv.gz",
        (
            "https://raw.githubusercontent.com/felixleopoldo/cstrees/522c83d1ce87d8ebffea140ba1438c3d9d2579a4/"
            "src/cstrees/datasets/sachs_observational.csv",
        ),
        "7ca888fda6d76dbbaf84a9dc4e2428d13d3d40808c8c23cc5a836df4937eb01f",
    ),
    "sachs-conditions": Source(
        "sachs_full_raw.csv.gz",
        (
            "https://raw.githubusercontent.com/FenTechSolutions/CausalDiscoveryToolbox/"
            "4aa0d0df0d9cb252c2dbdd247b2a9c810e5dfeeb/cdt/data/resources/cyto_full_data.csv",
        ),
        "2a07591b6043e9034576ec26d4ff9bed86a61ca2c923b14560b2991a31340032",
        _with_conditions,
    ),
    "sachs-interventional": Source(
        "sachs_interventional_disc.csv",
        (
            "https://raw.githubusercontent.com/GregoryTomy/Bayesian-Networks/65ad53317aee147824c2db4ff080bcfe2e7d7d47/"
            "data/sachs.interventional.txt",
        ),
        "f4b70352930aade8f37ff9e6da0a0ecfa1b6bb1373f67b68f026ac6a7df54a2e",
        _spaced,
    ),
} | {
    f"{name}.bif": Source(
        f"bif/{name}.bif.gz",
        (f"https://www.bnlearn.com/bnrepository/{name}/{name}.bif.gz",),
        sha256,
        text_of,
        tabular=False,
        package=("pgmpy", f"utils/example_models/{name}.bif.gz"),
    )
    for name, sha256 in _NETWORKS.items()
}


# ---------------------------------------------------------------- fetching
def fetch(name: str) -> Any:
    """Return a table, or the text of a network: from ``CSLEARN_DATA``, a package, the cache, or its public origin.

    Raises
    ------
    FileError
        If it cannot be reached, or is not what it should be.
    MissingExtraError
        If it has to be downloaded and the extra ``cslearn[data]`` is not installed.
    """
    return fetch_from(SOURCES[name], name)


def fetch_from(source: Source, name: str) -> Any:
    """Return what a source holds, under a name for messages; raises as :func:`fetch` does."""
    folder = os.environ.get("CSLEARN_DATA")
    if folder and (path := Path(folder, source.file)).is_file():
        return _checked(name, source, source.local, path, "replace it by the original, or unset CSLEARN_DATA")
    if (installed := _installed(source)) is not None:
        return _checked(name, source, source.convert, installed, "install the package again, or another version of it")
    failures = []
    for url in source.urls:
        try:
            path = _download(name, url)
        except MissingExtraError:
            raise
        except Exception as error:
            failures.append(f"{url} ({type(error).__name__})")
            continue
        return _checked(name, source, source.convert, path, "delete it and try again")
    at_hand = f"{source.file} is not in the directory CSLEARN_DATA={folder}" if folder else "CSLEARN_DATA is not set"
    raise FileError(
        f"The data {name!r} are not at hand: {at_hand}, and nothing could be fetched from {' or '.join(failures)}."
        f" Connect to the network, or put {source.file} into a directory and set CSLEARN_DATA to it."
    )


def _installed(source: Source) -> Path | None:
    """Return the file in a package that is installed, without loading the package."""
    if source.package is None or (spec := find_spec(source.package[0])) is None:
        return None
    paths = (Path(folder, source.package[1]) for folder in spec.submodule_search_locations or ())
    return next((path for path in paths if path.is_file()), None)


def _download(name: str, url: str) -> Path:
    """Return the path of a file of the cache, which is fetched if it is not there yet."""
    pooch = _optional("pooch")
    pooch.get_logger().setLevel("ERROR")
    folder = os.environ.get("CSLEARN_CACHE") or pooch.os_cache("cslearn")
    fname = f"{hashlib.sha256(url.encode()).hexdigest()[:12]}-{url.rpartition('/')[2]}"
    downloader = pooch.HTTPDownloader(timeout=30)
    return Path(pooch.retrieve(url, known_hash=None, fname=fname, path=folder, downloader=downloader))


def _checked(name: str, source: Source, convert: Callable[[bytes], Any], path: Path, remedy: str) -> Any:
    try:
        content = convert(path.read_bytes())
    except MissingExtraError:
        raise
    except (OSError, ValueError, EOFError, ZlibError, LookupError, NotImplementedError) as error:
        raise FileError(f"{path} cannot be read as the data {name!r} ({error}): {remedy}") from error
    if not source.sha256:
        return content
    text = content if isinstance(content, str) else content.to_csv(index=False, lineterminator="\n")
    if hashlib.sha256(text.encode()).hexdigest() != source.sha256:
        raise FileError(f"{path} is not the data {name!r}, as its checksum differs: {remedy}")
    return content


def _optional(package: str) -> Any:
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtraError(
            f'{package} is needed to download data and cannot be imported ({error}): pip install "cslearn[data]"'
        ) from error
