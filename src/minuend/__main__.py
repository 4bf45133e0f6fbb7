"""``python -m minuend``."""

from minuend.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
