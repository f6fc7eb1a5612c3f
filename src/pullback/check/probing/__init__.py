"""The probes: each looks for one kind of fault in a whole Function, and says what it stands on."""

from pullback.check.probing import contract, dtypes, edges, layouts, modes, orders, state, values  # noqa: F401 - register
from pullback.check.probing.outcome import Fault, Outcome, Verdict
from pullback.check.probing.probe import PROBES, Probe
from pullback.check.probing.specimen import Specimen

#: The order in which they run: what ends everything is found first.
ORDER = ("values", "orders", "contract", "state", "layouts", "dtypes", "edges", "modes")

__all__ = ["ORDER", "PROBES", "Fault", "Outcome", "Probe", "Specimen", "Verdict"]
