"""What this package says of models and files, compared with what the field's own tools say; one module a surface."""
