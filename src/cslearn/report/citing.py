"""How to cite the package and the paper; a test compares this with CITATION.cff."""

from __future__ import annotations

from importlib.metadata import version

__all__ = ["citations"]

PAPER_TITLE = "Scalable Structure Learning for Sparse Context-Specific Systems"
PAPER_AUTHORS = (("Felix Leopoldo", "Rios"), ("Alex", "Markham"), ("Liam", "Solus"))
PACKAGE_TITLE = "cslearn: learning context-specific structure from categorical data"
PACKAGE_AUTHORS = "the cslearn developers"


def citations() -> list[dict[str, str]]:
    """Return what to cite: for each work its purpose, a sentence, and a BibTeX entry.

    Examples
    --------
    >>> from cslearn.report.citing import citations
    >>> for work in citations():
    ...     print(work["text"])
    Felix Leopoldo Rios, Alex Markham and Liam Solus. Scalable Structure Learning for Sparse Context-Specific Systems.
    The cslearn developers. cslearn: learning context-specific structure from categorical data. Version ...
    """
    number = version("cslearn")
    names = [f"{given} {family}" for given, family in PAPER_AUTHORS]
    authors = " and ".join([", ".join(names[:-1]), names[-1]])
    bib_authors = " and ".join(f"{family}, {given}" for given, family in PAPER_AUTHORS)
    return [
        {
            "what": "The method",
            "text": f"{authors}. {PAPER_TITLE}.",
            "bibtex": f"@misc{{rios_scalable,\n  author = {{{bib_authors}}},\n  title = {{{PAPER_TITLE}}}\n}}",
        },
        {
            "what": "The software",
            "text": f"{PACKAGE_AUTHORS[0].upper()}{PACKAGE_AUTHORS[1:]}. {PACKAGE_TITLE}. Version {number}.",
            "bibtex": (
                f"@software{{cslearn,\n  author = {{{{{PACKAGE_AUTHORS}}}}},\n  title = {{{PACKAGE_TITLE}}},\n"
                f"  version = {{{number}}}\n}}"
            ),
        },
    ]
