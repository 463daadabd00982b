"""Run all benchmarks but the choice of defaults; those that need other packages or networks by ``--peers``.

Some read real data from the directory that CSLEARN_DATA names, and leave them out where it is not set.
"""

import os
import sys

from benchmarks import accuracy, classifiers, mixing, model, peers, posterior, scale, speed, start

with_peers = "--peers" in sys.argv
sys.argv = sys.argv[:1]
if with_peers:
    peers.main([])
start.main()
model.main()
mixing.main()
speed.main([])
accuracy.main()
posterior.main([])
scale.main([])
if "CSLEARN_DATA" in os.environ:
    classifiers.main([])
    if with_peers:
        from benchmarks import bounds, queries

        bounds.main([])
        queries.main([])
