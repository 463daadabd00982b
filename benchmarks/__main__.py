"""Run all benchmarks."""

from benchmarks import accuracy, model

for module in (model, accuracy):
    module.main()
