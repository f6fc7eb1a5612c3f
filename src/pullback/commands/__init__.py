"""The sub-commands of ``pullback``, one module each; what each one does stands in a package of its own."""
