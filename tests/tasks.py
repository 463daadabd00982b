"""Functions that tests of the experiments run in processes of their own, which load this file and nothing more."""


def square(task):
    while task["x"] == 13:  # for ever, and busy
        pass
    return {"square": task["x"] ** 2}


def halves(task):
    from experiments.alone import peak_mb

    while task.get("forever"):
        pass
    return {"half": task["x"] / 2, "peak": peak_mb()}
