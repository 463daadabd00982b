"""Real data sets as data frames, and networks as CStrees."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

from cslearn._checked import checked
from cslearn.cstree import CStree
from cslearn.datasets.sources import MUSHROOM_COLUMNS, SOURCES, fetch
from cslearn.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "dataset_names",
    "load_alarm",
    "load_dataset",
    "load_mushroom",
    "load_network",
    "load_sachs",
    "network_names",
    "true_edges",
]

# Parents > child, in the names of the data.
_EDGES = {
    "alarm": """LVF > HIST; LVV > CVP; LVV > PCWP; HYP LVF > LVV; HYP LVF > STKV; ERLO HR > HRBP; ERCA HR > HREK;
        ERCA HR > HRSA; APL > TPR; ACO2 VLNG > ECO2; INT VLNG > MINV; FIO2 VALV > PVS; PVS SHNT > SAO2; PMB > PAP;
        INT PMB > SHNT; INT KINK VTUB > PRSS; MVS > VMCH; DISC VMCH > VTUB; INT KINK VTUB > VLNG; INT VLNG > VALV;
        VALV > ACO2; ACO2 ANES SAO2 TPR > CCHL; CCHL > HR; HR STKV > CO; CO TPR > BP""",
    "asia": "A > T; S > L; S > B; T L > E; E > X; E B > D",
    "sachs": """Erk PKA > Akt; Mek PKA > Erk; PKA PKC > JNK; PKA PKC Raf > Mek; PKA PKC > p38; PIP3 PLCg > PIP2;
        PLCg > PIP3; PKC > PKA; PKA PKC > Raf""",
}

# The letters of the mushroom data, in words; from the description that comes with the data.
_COLOURS = (
    "n brown,b buff,c cinnamon,g gray,r green,p pink,u purple,e red,w white,y yellow,o orange,k black,h chocolate"
)
_SURFACES = "f fibrous,g grooves,y scaly,s smooth,k silky"
_WORDS = {
    "class": "e edible,p poisonous",
    "cap-shape": "b bell,c conical,x convex,f flat,k knobbed,s sunken",
    "cap-surface": _SURFACES,
    "cap-color": _COLOURS,
    "bruises": "t yes,f no",
    "odor": "a almond,l anise,c creosote,y fishy,f foul,m musty,n none,p pungent,s spicy",
    "gill-attachment": "a attached,d descending,f free,n notched",
    "gill-spacing": "c close,w crowded,d distant",
    "gill-size": "b broad,n narrow",
    "gill-color": _COLOURS,
    "stalk-shape": "e enlarging,t tapering",
    "stalk-root": "b bulbous,c club,u cup,e equal,z rhizomorphs,r rooted,? ?",
    "stalk-surface-above-ring": _SURFACES,
    "stalk-surface-below-ring": _SURFACES,
    "stalk-color-above-ring": _COLOURS,
    "stalk-color-below-ring": _COLOURS,
    "veil-type": "p partial,u universal",
    "veil-color": _COLOURS,
    "ring-number": "n none,o one,t two",
    "ring-type": "c cobwebby,e evanescent,f flaring,l large,n none,p pendant,s sheathing,z zone",
    "spore-print-color": _COLOURS,
    "population": "a abundant,c clustered,n numerous,s scattered,v several,y solitary",
    "habitat": "g grasses,l leaves,m meadows,p paths,u urban,w waste,d woods",
}


# ---------------------------------------------------------------- the data of the paper
def load_alarm() -> pd.DataFrame:
    """Return the ALARM data of the paper's Section 6.3: 20,000 rows of 37 variables with 2 to 4 states.

    The rows are not a sample of the network that :func:`load_network` returns under the same name, whose probabilities
    of arterial CO2 differ. They share the graph: see :func:`true_edges`.

    Examples
    --------
    >>> from cslearn.datasets import load_alarm
    >>> load_alarm().shape  # doctest: +SKIP
    (20000, 37)
    """
    return fetch("alarm")


@checked
def load_mushroom(*, complete: bool = False) -> pd.DataFrame:
    """Return the Mushroom data of UCI: 8,124 rows of 23 variables, whose first, ``class``, says edible or poisonous.

    Parameters
    ----------
    complete : bool
        Whether to leave out the 2,480 rows with a missing ``stalk-root``, as the paper does, and ``veil-type``, which
        is the same everywhere. Otherwise missing cells are ``"?"``.

    Returns
    -------
    pandas.DataFrame
        With states in words, such as ``"almond"``, where the original has letters.

    Examples
    --------
    >>> from cslearn.datasets import load_mushroom
    >>> load_mushroom(complete=True).shape  # doctest: +SKIP
    (5644, 22)
    """
    letters = fetch("mushroom")
    frame = letters.copy()
    for variable in MUSHROOM_COLUMNS:
        words = dict(pair.split(" ", 1) for pair in _WORDS[variable].split(","))
        frame[variable] = letters[variable].map(words)
    if not complete:
        return frame
    return frame[frame["stalk-root"] != "?"].drop(columns="veil-type").reset_index(drop=True)


@checked
def load_sachs(
    kind: Literal["observational", "interventional", "conditions"] = "observational",
    *,
    bins: int | None = 2,
    method: Literal["quantile", "uniform"] = "quantile",
) -> pd.DataFrame:
    """Return measurements of eleven proteins in human immune cells (Sachs and others, 2005).

    Parameters
    ----------
    kind : {"observational", "interventional", "conditions"}
        ``observational``: the 1,755 rows of the paper's supplement, natural logarithms of the measurements.
        ``interventional``: 5,400 rows in three levels each, as they were published, with a column ``INT`` that names
        the protein that was perturbed, or is empty; it can be given as ``interventions="INT"`` to
        :meth:`cslearn.CStreeLearner.fit`.
        ``conditions``: all 7,466 measurements as they are, with a column ``condition`` that names the experiment.
    bins : int or None
        How many bins the measurements are cut into; None leaves them as numbers. Does not matter for
        ``interventional``.
    method : {"quantile", "uniform"}
        Bins of equal frequency (two are cut at the median, as in the paper), or of equal width.

    Returns
    -------
    pandas.DataFrame
        The states of two or three bins are ``low``, ``medium`` and ``high``.

    Examples
    --------
    >>> from cslearn.datasets import load_sachs
    >>> load_sachs()["PKA"].value_counts().to_dict()  # doctest: +SKIP
    {'high': 878, 'low': 877}
    """
    import pandas as pd

    if kind not in ("observational", "interventional", "conditions"):
        raise InputError(f"there are no Sachs data {kind!r}; choose 'observational', 'interventional' or 'conditions'")
    if method not in ("quantile", "uniform"):
        raise InputError(f"bins are made by 'quantile' or 'uniform', not {method!r}")
    frame = fetch(f"sachs-{kind}")
    frame = frame.rename(columns=dict(zip(frame.columns, _SACHS_NAMES, strict=False)))
    measured = list(_SACHS_NAMES)
    if kind == "interventional":
        frame[measured] = frame[measured].replace({"1": "low", "2": "medium", "3": "high"})
        frame["INT"] = ["" if which == "0" else measured[int(which) - 1] for which in frame["INT"]]
        return frame
    frame[measured] = frame[measured].astype(float)
    if bins is None:
        return frame
    from cslearn.data import discretize

    cut, _ = discretize(frame[measured], columns=measured, bins=bins, method=method)
    words = {2: ("low", "high"), 3: ("low", "medium", "high")}.get(bins)
    if words is not None:
        for variable in measured:
            if len(cut[variable].cat.categories) == bins:
                cut[variable] = cut[variable].cat.rename_categories(words)
    return cut if kind == "observational" else pd.concat([cut, frame["condition"]], axis=1)


_SACHS_NAMES = ("Raf", "Mek", "PLCg", "PIP2", "PIP3", "Erk", "Akt", "PKA", "PKC", "p38", "JNK")


@checked
def true_edges(name: str) -> list[tuple[str, str]]:
    """Return the edges, parent and child, that are known or agreed on for a data set.

    Parameters
    ----------
    name : {"alarm", "asia", "sachs"}
        For ``alarm`` and ``asia``, from which the data were drawn; for ``sachs``, what biologists held to be true in
        2005, in the form of the network repository of bnlearn.

    Examples
    --------
    >>> from cslearn.datasets import true_edges
    >>> len(true_edges("alarm")), len(true_edges("sachs"))
    (46, 17)
    """
    if name not in _EDGES:
        raise InputError(f"the true edges of {name!r} are not known; there are those of {', '.join(_EDGES)}")
    families = (family.split(" > ") for family in _EDGES[name].split(";"))
    return [(parent, child.strip()) for parents, child in families for parent in parents.split()]


# ---------------------------------------------------------------- small sets
def _titanic() -> pd.DataFrame:
    """Return the people on board of the Titanic (Dawson, 1995) from the counts of class, sex, age and survival."""
    import pandas as pd

    names = ("Class", "Sex", "Age", "Survived")
    outcomes = product(("No", "Yes"), ("Child", "Adult"), ("Male", "Female"), ("1st", "2nd", "3rd", "Crew"))
    counts = [0, 0, 35, 0, 0, 0, 17, 0, 118, 154, 387, 670, 4, 13, 89, 3]
    counts += [5, 11, 13, 0, 1, 13, 14, 0, 57, 14, 75, 192, 140, 80, 76, 20]
    rows = [outcome[::-1] for outcome, count in zip(outcomes, counts, strict=True) for _ in range(count)]
    return pd.DataFrame(rows, columns=list(names))


def _monks(rule: Callable[[Any], bool]) -> pd.DataFrame:
    """Return all robots of the monks' problems (Thrun and others, 1991), and whether the rule holds for each."""
    import pandas as pd

    robots = product("123", "123", "12", "123", "1234", "12")
    rows = [("1" if rule(robot) else "0", *robot) for robot in robots]
    return pd.DataFrame(rows, columns=["class", *(f"a{i}" for i in range(1, 7))])


_BUILT_IN: dict[str, Callable[[], pd.DataFrame]] = {
    "monks1": lambda: _monks(lambda a: a[0] == a[1] or a[4] == "1"),
    "monks2": lambda: _monks(lambda a: a.count("1") == 2),
    "monks3": lambda: _monks(lambda a: (a[4] == "3" and a[3] == "1") or (a[4] != "4" and a[1] != "3")),
    "titanic": _titanic,
}


def dataset_names() -> list[str]:
    """Return the names that :func:`load_dataset` knows.

    Examples
    --------
    >>> from cslearn.datasets import dataset_names
    >>> "titanic" in dataset_names()
    True
    """
    return sorted([*_BUILT_IN, *(name for name in SOURCES if not name.endswith(".bif"))])


@checked
def load_dataset(name: str) -> pd.DataFrame:
    """Return a data set as it was published: every cell a string, missing cells ``"?"``.

    ``titanic`` and ``monks1`` to ``monks3`` are built in; the others are read or fetched as :mod:`cslearn.datasets`
    describes. For the data of the paper there are :func:`load_alarm`, :func:`load_mushroom` and :func:`load_sachs`.

    Parameters
    ----------
    name : str
        One of :func:`dataset_names`.

    Examples
    --------
    >>> from cslearn.datasets import load_dataset
    >>> load_dataset("titanic").groupby(["Class", "Survived"]).size()["Crew"].to_dict()
    {'No': 673, 'Yes': 212}
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]()
    if name not in dataset_names():
        raise InputError(f"there is no data set {name!r}; there are {', '.join(dataset_names())}")
    return fetch(name)


# ---------------------------------------------------------------- networks
def network_names() -> list[str]:
    """Return the names that :func:`load_network` knows.

    Examples
    --------
    >>> from cslearn.datasets import network_names
    >>> network_names()
    ['alarm', 'andes', 'asia', 'cancer', 'child', 'earthquake', 'hailfinder', 'hepar2', 'insurance', 'pigs', 'sachs',
     'survey', 'win95pts']
    """
    return sorted(name.removesuffix(".bif") for name in SOURCES if name.endswith(".bif"))


@checked
def load_network(name: str) -> CStree:
    """Return a network of the repository of bnlearn as a CStree, to draw data from with :meth:`~cslearn.CStree.sample`.

    Where pgmpy is installed nothing has to be fetched, as it comes with these networks.

    Parameters
    ----------
    name : str
        One of :func:`network_names`.

    Examples
    --------
    >>> from cslearn.datasets import load_network
    >>> load_network("asia").sample(1000, random_state=0).shape  # doctest: +SKIP
    (1000, 8)
    """
    from cslearn.formats import from_bif

    if name not in network_names():
        raise InputError(f"there is no network {name!r}; there are {', '.join(network_names())}")
    return from_bif(fetch(f"{name}.bif"))
