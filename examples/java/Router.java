import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A router and producer for Fusebox, on kafka-clients: it follows the state of every circuit, and says what became of
 * calls. Any thread may call it. docs/routers.md and docs/producers.md say what it goes by.
 */
class Router implements AutoCloseable {
    /** Leave for one call. A probe has a lease, and a time by which its outcome must be reported. */
    record Admission(String circuit, long epoch, String lease, Instant expiresAt, Instant began) { }

    /** A call may not be made: why, and when to come back, null where nobody can say. */
    static class Refused extends Exception {
        final JsonNode cause;
        final Instant retryAt;

        Refused(String circuit, JsonNode state, Instant retryAt) {
            super(circuit + " refuses: " + why(state) + again(retryAt));
            this.cause = state.get("cause");
            this.retryAt = retryAt;
        }

        private static String why(JsonNode state) {
            var leases = state.get("leases");
            var override = state.get("override");
            var cause = state.get("cause");
            if (state.get("state").asText().equals("half_open") && !leases.isEmpty()) {
                return "it is being tested by " + leases.get(0).get("holder").asText();
            }
            if (!override.isNull()) return override.get("actor").asText() + ": " + override.get("reason").asText();
            if (cause.isNull()) return "it is " + state.get("state").asText();
            var kinds = new ArrayList<String>();
            cause.get("by_kind").properties().forEach(kind -> kinds.add(kind.getValue() + " " + kind.getKey()));
            return cause.get("rule").asText() + " (" + String.join(", ", kinds) + ")";
        }

        private static String again(Instant at) {
            if (at == null) return "";
            var left = Math.max(100, Duration.between(Instant.now(), at).toMillis());
            return "; try again in %.1fs".formatted(left / 1000.0);
        }
    }

    private static final Duration PROBE_WAIT = Duration.ofMillis(500);
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String name;
    private final String prefix;
    private final KafkaProducer<String, String> producer;
    private final Thread follower;
    private volatile boolean closed;

    // What follows is guarded by this.
    private final Map<String, JsonNode> states = new HashMap<>();
    private final Map<String, Instant> rests = new HashMap<>(); // No claim before.
    private JsonNode routes = JSON.createArrayNode();
    private long calls;

    /** Opens a router. The producer chooses by murmur2, as Fusebox counts, unless more says otherwise. */
    Router(String brokers, String name, String prefix, Map<String, String> more) throws Exception {
        this.name = name;
        this.prefix = prefix;
        var config = new Properties();
        config.putAll(Map.of("bootstrap.servers", brokers, "acks", "all"));
        config.putAll(more);
        producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
        var caughtUp = new CompletableFuture<Void>();
        follower = new Thread(() -> follow(brokers, caughtUp), "fusebox-states");
        follower.setDaemon(true);
        follower.start();
        caughtUp.get(30, TimeUnit.SECONDS);
    }

    /** Reads all partitions of the state topic from the beginning, and then what comes. */
    private void follow(String brokers, CompletableFuture<Void> caughtUp) {
        var config = new Properties();
        config.putAll(Map.of("bootstrap.servers", brokers, "isolation.level", "read_committed"));
        try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            var partitions = consumer.partitionsFor(prefix + "circuit-state.v1").stream()
                .map(p -> new TopicPartition(p.topic(), p.partition())).toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            var ends = consumer.endOffsets(partitions);
            while (!closed) {
                for (var message : consumer.poll(Duration.ofMillis(100))) take(message.key(), message.value());
                if (caughtUp.isDone()) continue;
                if (partitions.stream().allMatch(p -> consumer.position(p) >= ends.get(p))) caughtUp.complete(null);
            }
        } catch (Exception failed) {
            System.err.println("the state topic: " + failed);
            caughtUp.completeExceptionally(failed);
        }
    }

    /** Takes a record in, unless a newer one of its circuit is known. */
    private synchronized void take(String key, String value) throws IOException {
        if (key.equals("\0policies")) {
            routes = JSON.readTree(value).get("routes");
        } else if (key.startsWith("\0")) {
            return; // A heartbeat.
        } else if (value == null) {
            states.remove(key);
        } else {
            var state = JSON.readTree(value);
            states.merge(key, state, (old, next) -> newer(next, old) ? next : old);
        }
        notifyAll();
    }

    private static boolean newer(JsonNode state, JsonNode old) {
        var life = Decision.time(state.get("born")).compareTo(Decision.time(old.get("born")));
        return life > 0 || life == 0 && state.get("sequence").asLong() > old.get("sequence").asLong();
    }

    /** Admits a call, or throws Refused. Where a probe is due it claims the lease, and waits for it. */
    synchronized Admission enter(String circuit) throws Refused, InterruptedException {
        var state = states.get(circuit);
        var now = Instant.now();
        var decision = Decision.of(state, now, name, ++calls);
        if (decision.word() == Decision.Word.ADMITS) {
            return new Admission(circuit, state == null ? 0 : state.get("epoch").asLong(), "", null, now);
        }
        var rest = rests.getOrDefault(circuit, now);
        if (decision.word() == Decision.Word.REFUSES || now.isBefore(rest)) {
            var refuses = decision.word() == Decision.Word.REFUSES;
            throw new Refused(circuit, Decision.derive(state, now), refuses ? decision.retryAt() : rest);
        }
        return claim(circuit, now);
    }

    /** Asks for the lease of a probe, one call at a time, and waits for the answer. */
    private Admission claim(String circuit, Instant now) throws Refused, InterruptedException {
        var lease = UUID.randomUUID().toString();
        rests.put(circuit, now.plus(PROBE_WAIT).plus(PROBE_WAIT)); // Until then other calls are refused.
        BooleanSupplier due = () ->
            Decision.of(states.get(circuit), Instant.now(), name, calls).word() == Decision.Word.PROBES;
        waitWhile(due, Duration.ofMillis(ThreadLocalRandom.current().nextInt(1, 100))); // Not all routers at once.
        var seen = states.get(circuit);
        if (due.getAsBoolean()) {
            var claim = signal(circuit, "claim").put("holder", name).put("lease", lease);
            send("signals.v1", circuit, claim.put("epoch", seen.get("epoch").asLong()));
            waitWhile(() -> states.get(circuit) == seen, PROBE_WAIT);
        }
        var state = states.getOrDefault(circuit, JSON.createObjectNode());
        for (var granted : state.path("leases")) {
            if (!granted.get("id").asText().equals(lease)) continue;
            rests.remove(circuit);
            var expires = Decision.time(granted.get("expires_at"));
            return new Admission(circuit, state.get("epoch").asLong(), lease, expires, Instant.now());
        }
        send("signals.v1", circuit, signal(circuit, "release").put("lease", lease).put("unused", true));
        throw new Refused(circuit, Decision.derive(state.isEmpty() ? seen : state, Instant.now()), rests.get(circuit));
    }

    /** Waits while something holds, but no longer than a time. Others may call the router meanwhile. */
    private void waitWhile(BooleanSupplier holds, Duration atMost) throws InterruptedException {
        var end = System.nanoTime() + atMost.toNanos();
        for (long left; holds.getAsBoolean() && (left = end - System.nanoTime()) > 0; ) {
            TimeUnit.NANOSECONDS.timedWait(this, left);
        }
    }

    /** Returns where to go when a circuit refuses, or gave no usable answer, for a kind. */
    synchronized List<String> instead(String circuit, String kind) {
        for (var route : routes) {
            var chain = texts(route.get("chain"));
            if (!chain.contains(circuit)) continue;
            var byCause = route.path("by_cause").path(kind);
            if (!byCause.isMissingNode()) return texts(byCause);
            return chain.subList(chain.indexOf(circuit) + 1, chain.size());
        }
        return List.of();
    }

    private static List<String> texts(JsonNode list) {
        return StreamSupport.stream(list.spliterator(), false).map(JsonNode::asText).toList();
    }

    /** Says once what became of an admitted call. More has other fields of an outcome. */
    void report(Admission a, String kind, Map<String, ?> more) {
        var now = Instant.now();
        var outcome = JSON.createObjectNode().put("id", UUID.randomUUID().toString()).put("circuit", a.circuit())
            .put("kind", kind).put("time", now.toString()).put("source", name).put("epoch", a.epoch())
            .put("lease", a.lease()).put("latency_ms", Duration.between(a.began(), now).toMillis());
        more.forEach((field, value) -> outcome.set(field, JSON.valueToTree(value)));
        send("outcomes.v1", a.circuit(), outcome);
    }

    /** Gives an admission back: the caller gave up, which is no evidence. Unused: the call was never made. */
    void release(Admission a, boolean unused) {
        if (a.lease().isEmpty()) return;
        send("signals.v1", a.circuit(), signal(a.circuit(), "release").put("lease", a.lease()).put("unused", unused));
    }

    private static ObjectNode signal(String circuit, String type) {
        return JSON.createObjectNode().put("circuit", circuit).put("type", type);
    }

    private void send(String topic, String circuit, JsonNode value) {
        producer.send(new ProducerRecord<>(prefix + topic, circuit, value.toString()), (sent, failed) -> {
            if (failed != null) System.err.println("not delivered: " + failed);
        });
    }

    /** Sends what waits to be sent. */
    @Override
    public void close() throws InterruptedException {
        closed = true;
        follower.join();
        producer.close(Duration.ofSeconds(10));
    }
}
