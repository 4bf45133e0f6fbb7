"""DirectML's C API: enumerations, structures, and descriptions of tensors."""
