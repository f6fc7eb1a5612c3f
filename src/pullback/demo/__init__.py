"""``pullback demo``: runs the programs of ``examples/`` and checks every number that they show."""
