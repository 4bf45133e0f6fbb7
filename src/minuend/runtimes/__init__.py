"""What runtimes do: asked, measured, kept as data, proven."""
