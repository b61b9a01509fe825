"""Scripts that may crash, hang or run out of memory, and so run in child processes."""
