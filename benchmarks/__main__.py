"""Run all benchmarks but the choice of defaults; `benchmarks.peers`, which installs other packages, by ``--peers``."""

import sys

from benchmarks import accuracy, mixing, model, peers, scale, speed

with_peers = "--peers" in sys.argv
sys.argv = sys.argv[:1]
model.main()
mixing.main()
speed.main([])
accuracy.main()
scale.main([])
if with_peers:
    peers.main([])
