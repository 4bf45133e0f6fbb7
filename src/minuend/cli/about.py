"""What this program calls itself."""


def version() -> str:
    """Return the version that is installed."""
    from importlib import metadata  # slow

    try:
        return metadata.version("minuend")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def tool() -> str:
    """Return name and version, as ``--version`` and reports show them."""
    return f"minuend {version()}"
