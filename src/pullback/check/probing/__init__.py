"""The probes: each looks for one kind of fault in a whole Function, and says what it stands on."""

from pullback.check.probing import contract, dtypes, edges, layouts, modes, orders, state, values  # noqa: F401 - register
from pullback.check.probing.outcome import Fault, Outcome, Verdict
from pullback.check.probing.probe import PROBES, Probe
from pullback.check.probing.specimen import Specimen

__all__ = ["PROBES", "Fault", "Outcome", "Probe", "Specimen", "Verdict"]
