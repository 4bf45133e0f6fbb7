"""``python -m minuend``."""

from minuend.cli.program import main

if __name__ == "__main__":
    raise SystemExit(main())
