"""What Fourth's models look like from outside."""

SUFFIXES = (".fourth",)
MODELS = "Fourth scripts"
OBJECTS = ()


def looks_like(head):
    """Whether these first bytes can be those of a model."""
    return head.startswith(b"FOURTH")


def is_model(path):
    """Whether a file of such a name is a model."""
    return True
