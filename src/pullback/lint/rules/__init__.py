"""The rules, one file for each theme; importing this package registers them all."""

from pullback.lint.rule import RULES
from pullback.lint.rules import backward, cotangents, cuts, marks, missing, mutation, protocol, saving, state  # noqa: F401

__all__ = ["RULES", "THEMES"]

THEMES = {
    "PB1": "how a Function is written and called",
    "PB2": "what is saved for backward",
    "PB3": "what backward returns",
    "PB4": "writes and marks",
    "PB5": "derivatives of derivatives",
    "PB6": "state outside of ctx",
}
