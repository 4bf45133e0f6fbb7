"""What this program calls itself."""

from minuend import __version__


def tool() -> str:
    """Return name and version, as ``--version`` and reports show them."""
    return f"minuend {__version__}"
