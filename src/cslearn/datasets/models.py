"""The models of the examples of the paper."""

from __future__ import annotations

from cslearn.cstree import CStree

__all__ = ["chickenpox_model", "dense_model", "supplement_model"]


def chickenpox_model() -> CStree:
    """Return the chicken-pox model of the paper's Example 1, with made-up parameters.

    Carrier status depends on nothing else once a child has not been exposed; exposure does not depend on the
    background of a child that had chicken-pox before. The paper gives the structure only.

    Examples
    --------
    >>> from cslearn.datasets import chickenpox_model
    >>> print(chickenpox_model().stagings["exposed"])
    diagnosis=no, background=rural | diagnosis=no, background=urban | diagnosis=yes
    """
    yesno = ("no", "yes")
    tree = CStree.from_statements(
        [
            "diagnosis _||_ background",
            "exposed _||_ background | diagnosis=yes",
            "carrier _||_ background, diagnosis | exposed=no",
            "carrier _||_ background | diagnosis=no, exposed=yes",
        ],
        states={"background": ("rural", "urban"), "diagnosis": yesno, "exposed": yesno, "carrier": yesno},
    )
    # P(yes) in each stage, by what the child's context is.
    probability = {
        "background": {"": 0.6},
        "diagnosis": {"": 0.3},
        "exposed": {
            "diagnosis=no, background=rural": 0.2,
            "diagnosis=no, background=urban": 0.45,
            "diagnosis=yes": 0.35,
        },
        "carrier": {
            "exposed=no": 0.02,
            "exposed=yes, diagnosis=no": 0.8,
            "exposed=yes, diagnosis=yes, background=rural": 0.15,
            "exposed=yes, diagnosis=yes, background=urban": 0.25,
        },
    }
    parameters = {
        variable: [[1 - chances[str(context)], chances[str(context)]] for context in tree.stagings[variable]]
        for variable, chances in probability.items()
    }
    return tree.with_parameters(parameters)


def supplement_model() -> CStree:
    """Return the structure of Example 1 of the paper's supplement: four binary variables ``X1`` to ``X4``.

    Examples
    --------
    >>> from cslearn.datasets import supplement_model
    >>> supplement_model().n_free_parameters
    10
    """
    return CStree.from_statements(
        [
            "X2 _||_ X1",
            "X3 _||_ X1 | X2=1",
            "X4 _||_ X2 | X1=1, X3=1",
            "X4 _||_ X2 | X1=1, X3=0",
            "X4 _||_ X2 | X1=0, X3=1",
        ],
        states={f"X{i}": (0, 1) for i in range(1, 5)},
    )


def dense_model() -> CStree:
    """Return the structure of Remark 4 of the paper's supplement.

    No stage has more than two context variables and yet the minimal I-MAP is the complete DAG.

    Examples
    --------
    >>> from cslearn.datasets import dense_model
    >>> dense_model().to_dag().number_of_edges()
    6
    """
    return CStree.from_statements(
        ["X4 _||_ X3 | X1=0, X2", "X4 _||_ X2 | X1=1, X3"], states={f"X{i}": (0, 1) for i in range(1, 5)}
    )
