"""``python -m minuend``."""

from minuend.cli import run_process

if __name__ == "__main__":
    raise SystemExit(run_process())
