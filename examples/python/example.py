"""A route whose answers lose their evidence and find it again, HTTP 200 all the time.

    fusebox dev --policy examples/policies.yaml
    pip install -r examples/python/requirements.txt
    python3 examples/python/example.py
"""

import argparse
import itertools
import os
import sys
import time

from router import Refused, Router


class Model:
    """Stands for a model: its answers have no sources from the 6th call to the 11th."""

    def __init__(self):
        self.calls, self.hangs = 0, False

    def ask(self, question):
        self.calls += 1
        if self.hangs:
            time.sleep(60)
        return {"text": "It is 4711.", "sources": [] if 6 <= self.calls <= 11 else ["page 3"]}


def judge(answer):
    """Says what an answer was worth. This is yours to write."""
    if not answer["sources"]:
        return "missing_evidence", {"reason_code": "no_citation", "stage": "retrieval"}
    return "accepted", {}


def guarded(router, circuit, ask, fallback_from=""):
    """Enters a circuit, calls, judges and reports. Returns the kind of the outcome."""
    admission = router.enter(circuit)
    if admission.lease:
        print(f"{circuit} probe {admission.lease}, until {admission.expires_at:%H:%M:%S.%f}", flush=True)
    try:
        answer = ask("What is the policy number?")
    except KeyboardInterrupt:
        router.release(admission)  # No evidence about the route.
        raise
    except OSError as error:
        kind, more = "transport_failure", {"reason": str(error)}
    else:
        kind, more = judge(answer)
    router.report(admission, kind, fallback_from=fallback_from, **more)
    print(f"{circuit} {kind}" + (" by the probe" if admission.lease else ""), flush=True)
    return kind


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--brokers", default=os.environ.get("FUSEBOX_BROKERS") or "127.0.0.1:9092")
    flags.add_argument("--name", default="router-1", help="no two routers may have the same")
    flags.add_argument("--partitioner", default="murmur2_random", help="try consistent_random, the client's default")
    flags.add_argument("--then", default="recover", help="or hang: what the model does once its circuit has opened")
    flags.add_argument("circuit", nargs="?", default="submission-extraction:gpt-primary:v4")
    args = flags.parse_args()
    router, model = Router(args.brokers, args.name, partitioner=args.partitioner), Model()
    refused, recovered = False, 0
    for _ in itertools.count():
        try:
            kind = guarded(router, args.circuit, model.ask)
            recovered += refused and kind == "accepted"
        except Refused as refusal:
            refused, recovered, model.hangs = True, 0, args.then == "hang"
            kind = refusal.cause and refusal.cause["kind"]
            print(refusal, flush=True)
            for other in router.instead(args.circuit, kind)[:1]:
                guarded(router, other, lambda _: {"text": "It is 4711.", "sources": ["page 3"]}, args.circuit)
        if router.unjudged(args.circuit):
            sys.exit(f"no policy matches {args.circuit}: nothing counts its outcomes")
        if recovered > 3:
            break
        time.sleep(0.1)
    router.close()


if __name__ == "__main__":
    try:
        main()
    except TimeoutError as error:
        sys.exit(str(error))
