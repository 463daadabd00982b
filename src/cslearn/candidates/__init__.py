"""Candidate sets: which variables may be context variables of which ("phase 1"), and background knowledge."""

from __future__ import annotations

from cslearn.candidates.knowledge import Knowledge
from cslearn.candidates.sets import CandidateSets, candidate_sets

__all__ = ["CandidateSets", "Knowledge", "candidate_sets"]
