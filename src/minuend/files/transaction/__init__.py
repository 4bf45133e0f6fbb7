"""Writing files: whole or not at all, resumed after an interruption, on this machine or in an object store."""
