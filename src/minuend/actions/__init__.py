"""What a user asks for: check, fix, convert, run, and subtract files."""
