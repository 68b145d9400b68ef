"""The table "What a router does" of docs/routers.md. It reads no clock and does no I/O."""

from datetime import datetime


def when(text):
    """Reads a time as it stands in a record."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def derive(state, now):
    """Returns what time alone has made of a state."""
    state = dict(state)
    override = state["override"]
    if override and override["until"] and now >= when(override["until"]):
        state.update(state=override["then"], override=None, retry_at=override["until"],
                     leases=[], ramp=[], cause=None, degraded=None)
    state["leases"] = [lease for lease in state["leases"] if now < when(lease["expires_at"])]
    state["ramp"] = [step for step in state["ramp"] if now < when(step["until"])]
    return state


def place(router, circuit, epoch, call):
    """Places a call of a router between 0 and 1: it passes a ramp whose share is greater."""
    h = 2166136261
    for byte in "\0".join([router, circuit, str(epoch), str(call)]).encode():
        h = (h ^ byte) * 16777619 % 2**32
    return h % 1000 / 1000


def decide(state, now, router, call):
    """Returns what becomes of a call, and when to come back where that is known.

    "admits": it goes through. "probes": one call claims a lease, the others are refused. "refuses": it does not.
    The state is that of the circuit's newest record, None for a circuit that nobody has heard of.
    """
    if state is None:
        return "admits", None
    state = derive(state, now)
    word, leases, ramp = state["state"], state["leases"], state["ramp"]
    if not state["enforced"] or word in ("forced_closed", "disabled"):
        return "admits", None
    if word == "closed":
        if not ramp or place(router, state["circuit"], state["epoch"], call) < ramp[0]["share"]:
            return "admits", None
        return "refuses", when(ramp[0]["until"])
    if word == "forced_open":
        until = state["override"]["until"]
        return "refuses", until and when(until)
    if word == "open" and now < when(state["retry_at"]):
        return "refuses", when(state["retry_at"])
    if word == "half_open" and len(leases) >= state["probe"]["concurrency"]:
        return "refuses", min(when(lease["expires_at"]) for lease in leases)
    return "probes", None
