"""What runs of moves share, whichever way their scores are kept: where a variable goes, and what is remembered."""

from math import exp, inf

from cslearn._kernels import inner

__all__ = ["list_others", "place_for", "remember"]


@inner
def list_others(problem, state, v, others):
    """Fill `others` with the order without v; return the first and the last place that v may have among them."""
    first, last = 0, len(state.order) - 1
    s = 0
    for t in range(len(state.order)):
        u = state.order[t]
        if u != v:
            others[s] = u
            if problem.before[u, v]:
                first = max(first, s + 1)
            if problem.before[v, u]:
                last = min(last, s)
            s += 1
    return first, last


@inner
def place_for(log_weights, here, number, greedy, cold):
    """Return the place that a uniform `number` picks, with chances proportional to the weights to the power `cold`.

    A greedy move goes to the best place, and stays `here` where that is not better.
    """
    top, highest = -inf, here
    for t in range(len(log_weights)):
        if log_weights[t] > top:
            top, highest = log_weights[t], t
    if greedy:
        return highest if top > log_weights[here] + 1e-9 else here
    total = 0.0
    for t in range(len(log_weights)):
        total += exp(cold * (log_weights[t] - top))
    goal = number * total
    running = 0.0
    for t in range(len(log_weights)):
        running += exp(cold * (log_weights[t] - top))
        if running > goal:
            return t
    return here


@inner
def remember(state, step, trace, best_order, best, thin, kept):
    """Note the score after a move, the order after every `thin`-th, and the best order met."""
    score = 0.0
    for t in range(len(state.score)):
        score += state.score[t]
    trace[step] = score
    # Element by element: an assignment of arrays would compile Numba's messages about shapes, which takes seconds.
    if (step + 1) % thin == 0:
        for t in range(len(state.order)):
            kept[(step + 1) // thin - 1, t] = state.order[t]
    if score > best[0]:
        best[0] = score
        for t in range(len(state.order)):
            best_order[t] = state.order[t]
