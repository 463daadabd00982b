"""Settings that all tests share."""

from hypothesis import settings

# The first call of a kernel compiles it, so no example has a deadline; failures print how to reproduce them.
settings.register_profile("cslearn", deadline=None, print_blob=True)
settings.load_profile("cslearn")
