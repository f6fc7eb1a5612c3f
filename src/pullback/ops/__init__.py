"""The operators: each one place, registered with its samples and its reference."""
