"""Exit statuses; where another signal than Ctrl-C ended the program it is 128 and the signal's number."""

FINE = 0
FINDINGS = 1  # or refusals
BAD_USE = 2  # or bad input
DEFECT = 3
INTERRUPTED = 130  # by Ctrl-C
NO_READER = 141  # as shells show SIGPIPE
