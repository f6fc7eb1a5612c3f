"""The same operators under each ecosystem's names."""
