"""Speed of a model in use: divergence, log-probability, sampling."""

from benchmarks.report import publish, table, timed
from cslearn import kl_divergence, random_cstree


def main() -> None:
    p, q = random_cstree(20, random_state=0), random_cstree(20, random_state=1)
    alarm_like = random_cstree([2, 3, 4, 3, 2] * 7 + [2, 4], random_state=0)
    rows = alarm_like.sample_table(20_000, random_state=0)
    large = random_cstree(100, random_state=0)
    work = {
        "exact D(p || q), two binary models, p = 20": lambda: kl_divergence(p, q),
        "log_prob of 20,000 rows, p = 37, up to 4 states": lambda: alarm_like.log_prob(rows),
        "sample 100,000 rows, binary, p = 100": lambda: large.sample_table(100_000, random_state=0),
        "sample 100,000 rows as a data frame, binary, p = 100": lambda: large.sample(100_000, random_state=0),
    }
    result = [[name, f"{timed(function):.3f}"] for name, function in work.items()]
    publish("model", "A model in use", table(["work", "seconds"], result))


if __name__ == "__main__":
    main()
