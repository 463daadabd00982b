"""CStrees drawn from the prior that the scores assume."""

import numpy as np

from cslearn import CStree
from cslearn.priors import TreePrior
from cslearn.stagings import Context, Staging


def draw_from_prior(cards, rng, beta=2, ess=1.0, prior=None):
    """A CStree whose order is uniform, with stagings and parameters from their priors."""
    prior = TreePrior() if prior is None else prior
    names = [f"v{i}" for i in range(len(cards))]
    order = [int(i) for i in rng.permutation(len(cards))]
    stagings, parameters = {}, {}
    for t, i in enumerate(order):
        level = order[:t]
        pairs = prior.level_weights(np.array([cards[v] for v in level], dtype=np.intp), beta).draw(rng)
        scope = {names[v]: tuple(range(cards[v])) for v in level}
        staging = Staging(scope, [Context((names[level[k]], x) for k, x in context) for context in pairs])
        stagings[names[i]] = staging
        rows = []
        for context in staging:
            share = ess / np.prod([cards[names.index(v)] for v in context], initial=1)
            rows.append(rng.dirichlet(np.full(cards[i], share / cards[i])))
        parameters[names[i]] = np.array(rows)
    states = {name: tuple(range(d)) for name, d in zip(names, cards, strict=True)}
    return CStree([names[i] for i in order], stagings, parameters, states=states)
