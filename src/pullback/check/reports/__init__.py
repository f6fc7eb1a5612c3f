"""How a report is written: for a person in a terminal, as a page, for programs."""
