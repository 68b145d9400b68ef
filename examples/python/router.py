"""A router and producer for Fusebox, on confluent-kafka. docs/routers.md and docs/producers.md say what it goes by."""

import json
import random
import sys
import threading
import time
import uuid
from datetime import datetime, timedelta, timezone

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition

from decide import decide, derive, when


def now():
    return datetime.now(timezone.utc)


class Refused(Exception):
    """A call may not be made: why, and when to come back, None where nobody can say."""

    def __init__(self, circuit, state, retry_at):
        self.circuit, self.state, self.retry_at = circuit, state, retry_at
        self.cause = state["cause"]
        super().__init__(f"{circuit} refuses: {self.why()}{self.again()}")

    def why(self):
        cause, leases = self.cause, self.state["leases"]
        if self.state["state"] == "half_open" and leases:
            return "it is being tested by " + leases[0]["holder"]
        if self.state["override"]:
            return self.state["override"]["actor"] + ": " + self.state["override"]["reason"]
        if cause:
            kinds = ", ".join(f"{n} {kind}" for kind, n in cause["by_kind"].items())
            return f"{cause['rule']} ({kinds or cause['kind']})"
        return "it is " + self.state["state"]

    def again(self):
        if self.retry_at is None:
            return ""
        return f"; try again in {max(0.1, (self.retry_at - now()).total_seconds()):.1f}s"


class Admission:
    """Leave for one call. A probe has a lease, and a time by which its outcome must be reported."""

    def __init__(self, circuit, epoch, lease="", expires_at=None):
        self.circuit, self.epoch, self.lease, self.expires_at = circuit, epoch, lease, expires_at
        self.began = time.monotonic()


class Router:
    """Follows the state of every circuit, and says what became of calls. Any thread may call it."""

    def __init__(self, brokers, name, prefix="fusebox.", partitioner="murmur2_random", probe_wait=0.5):
        self.name, self.prefix, self.probe_wait = name, prefix, probe_wait
        self.states, self.routes, self.calls, self.rests = {}, [], 0, {}
        self.changed = threading.Condition()  # Guards those four.
        self.told = set()  # The troubles that were told of since all was well.
        self.producer = Producer({
            "bootstrap.servers": brokers, "acks": "all", "enable.idempotence": True, "linger.ms": 5,
            "partitioner": partitioner,  # murmur2_random: the partition that Fusebox counts the circuit in.
            "enable.metrics.push": False,  # The brokers want none of it, and the client's log is full of it.
            "log_level": 2, "error_cb": self.trouble,  # Each broker's fault once, and not at each attempt.
        })
        self.consumer = Consumer({
            "bootstrap.servers": brokers, "isolation.level": "read_committed", "enable.partition.eof": True,
            "group.id": "unused", "enable.auto.commit": False,  # The client wants a group, and never joins it.
            "enable.metrics.push": False, "log_level": 2, "error_cb": self.trouble,
        })
        self.closed, caught_up = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self.follow, args=[caught_up], daemon=True)
        self.thread.start()
        began = time.monotonic()
        while not caught_up.wait(timeout=0.1):
            self.producer.poll(0)  # Tells of trouble.
            if time.monotonic() > began + 30:
                raise TimeoutError(f"{prefix}circuit-state.v1 was not read to its end within 30 s")

    def follow(self, caught_up):
        """Reads all partitions of the state topic from the beginning, and then what comes."""
        topic = self.prefix + "circuit-state.v1"
        partitions = self.consumer.list_topics(topic).topics[topic].partitions
        self.consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
        behind = set(partitions)
        while not self.closed.is_set():
            self.producer.poll(0)  # Tells of outcomes that were not delivered.
            message = self.consumer.poll(0.05)
            if message is None:
                continue
            if message.error() is None:
                self.told.clear()
                self.take(message.key().decode(), message.value())
            elif message.error().code() == KafkaError._PARTITION_EOF:
                behind.discard(message.partition())
                if not behind:
                    caught_up.set()
            else:
                self.trouble(message.error())

    def trouble(self, error):
        """Tells of what keeps the brokers away, each thing once until records come again."""
        if error.code() not in self.told:
            self.told.add(error.code())
            print("the brokers:", error.str(), file=sys.stderr, flush=True)

    def take(self, key, value):
        """Takes a record in, unless a newer one of its circuit is known."""
        with self.changed:
            if key == "\0policies":
                self.routes = json.loads(value)["routes"]
            elif key.startswith("\0"):
                pass  # A heartbeat.
            elif value is None:
                self.states.pop(key, None)
            else:
                state, old = json.loads(value), self.states.get(key)
                if old is None or (state["born"], state["sequence"]) > (old["born"], old["sequence"]):
                    self.states[key] = state
            self.changed.notify_all()

    def enter(self, circuit):
        """Admits a call, or raises Refused. Where a probe is due it claims the lease, and waits for it."""
        with self.changed:
            self.calls += 1
            state, at = self.states.get(circuit), now()
            decision, retry_at = decide(state, at, self.name, self.calls)
            if decision == "admits":
                return Admission(circuit, state["epoch"] if state else 0)
            if decision == "refuses" or at < self.rests.get(circuit, at):
                raise Refused(circuit, derive(state, at), retry_at or self.rests.get(circuit))
            return self.claim(circuit, at)

    def claim(self, circuit, at):
        """Asks for the lease of a probe, one call at a time, and waits for the answer."""
        lease, wait = str(uuid.uuid4()), timedelta(seconds=self.probe_wait)
        self.rests[circuit] = at + 2 * wait  # Until then other calls are refused.
        seen = self.states[circuit]
        due = lambda: decide(self.states.get(circuit), now(), self.name, self.calls)[0] == "probes"
        self.changed.wait_for(lambda: not due(), timeout=random.random() / 10)  # Not all routers at once.
        if due():
            seen = self.states[circuit]
            self.signal(circuit, type="claim", holder=self.name, lease=lease, epoch=seen["epoch"])
            self.changed.wait_for(lambda: self.states.get(circuit) is not seen, timeout=self.probe_wait)
        state = self.states.get(circuit) or seen
        for granted in state["leases"]:
            if granted["id"] == lease:
                del self.rests[circuit]
                return Admission(circuit, state["epoch"], lease, when(granted["expires_at"]))
        self.signal(circuit, type="release", lease=lease, unused=True)  # Should it be granted after all.
        raise Refused(circuit, derive(state, now()), self.rests[circuit])

    def instead(self, circuit, kind):
        """Returns where to go when a circuit refuses, or gave no usable answer, for a kind."""
        with self.changed:
            for route in self.routes:
                if circuit in route["chain"]:
                    rest = route["chain"][route["chain"].index(circuit) + 1:]
                    return route.get("by_cause", {}).get(kind, rest)
        return []

    def unjudged(self, circuit):
        """Tells whether the circuit's newest record says that no policy matches it."""
        with self.changed:
            state = self.states.get(circuit)
            return state is not None and not state["policy"]

    def report(self, admission, kind, **more):
        """Says once what became of an admitted call. `more` are other fields of an outcome."""
        latency = round((time.monotonic() - admission.began) * 1000)
        outcome = {"id": str(uuid.uuid4()), "circuit": admission.circuit, "kind": kind, "time": now().isoformat(),
                   "latency_ms": latency, "source": self.name, "epoch": admission.epoch, "lease": admission.lease}
        self.send("outcomes.v1", admission.circuit, {**outcome, **more})

    def release(self, admission, unused=False):
        """Gives an admission back: the caller gave up, which is no evidence. Unused: the call was never made."""
        if admission.lease:
            self.signal(admission.circuit, type="release", lease=admission.lease, unused=unused)

    def signal(self, circuit, **fields):
        self.send("signals.v1", circuit, {"circuit": circuit, **fields})

    def send(self, topic, circuit, value):
        lost = lambda err, _: err and print("not delivered:", err, file=sys.stderr)
        self.producer.produce(self.prefix + topic, key=circuit, value=json.dumps(value), on_delivery=lost)

    def close(self):
        """Sends what waits to be sent."""
        self.closed.set()
        self.thread.join()
        self.producer.flush(10)
        self.consumer.close()
