"""``python -m cslearn`` is the command ``cslearn``."""

from cslearn.cli import main

if __name__ == "__main__":
    main()
