import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Objects;

/**
 * The table "What a router does" of docs/routers.md: what becomes of a call, and when to come back, null where nobody
 * can say. It reads no clock and does no I/O.
 */
record Decision(Word word, Instant retryAt) {
    /** ADMITS: it goes through. PROBES: one call claims a lease, the others are refused. REFUSES: it does not. */
    enum Word { ADMITS, PROBES, REFUSES }

    private static final Decision ADMITS = new Decision(Word.ADMITS, null);
    private static final Decision PROBES = new Decision(Word.PROBES, null);

    /** Decides by a circuit's newest record, null for a circuit that nobody has heard of. */
    static Decision of(JsonNode record, Instant now, String router, long call) {
        if (record == null || record.isNull()) return ADMITS;
        var state = derive(record, now);
        var word = state.get("state").asText();
        if (!state.get("enforced").asBoolean()) return ADMITS;
        switch (word) {
            case "forced_closed", "disabled":
                return ADMITS;
            case "forced_open":
                return refuses(time(state.get("override").get("until")));
            case "closed":
                var step = state.get("ramp").path(0);
                if (step.isMissingNode()) return ADMITS;
                var place = place(router, state.get("circuit").asText(), state.get("epoch").asLong(), call);
                return place < step.get("share").asDouble() ? ADMITS : refuses(time(step.get("until")));
            case "open":
                var retryAt = time(state.get("retry_at"));
                return now.isBefore(retryAt) ? refuses(retryAt) : PROBES;
            default: // half_open
                if (state.get("leases").size() < state.get("probe").get("concurrency").asInt()) return PROBES;
                Instant first = null;
                for (var lease : state.get("leases")) {
                    var expires = time(lease.get("expires_at"));
                    if (first == null || expires.isBefore(first)) first = expires;
                }
                return refuses(first);
        }
    }

    /** Returns what time alone has made of a state. */
    static ObjectNode derive(JsonNode record, Instant now) {
        ObjectNode state = record.deepCopy();
        var override = state.get("override");
        if (!override.isNull() && !override.get("until").isNull() && !now.isBefore(time(override.get("until")))) {
            state.set("state", override.get("then"));
            state.set("retry_at", override.get("until"));
            state.putNull("override").putNull("cause").putNull("degraded").putArray("leases");
            state.putArray("ramp");
        }
        state.withArray("leases").removeIf(lease -> !now.isBefore(time(lease.get("expires_at"))));
        state.withArray("ramp").removeIf(step -> !now.isBefore(time(step.get("until"))));
        return state;
    }

    /** Places a call of a router between 0 and 1: it passes a ramp whose share is greater. */
    private static double place(String router, String circuit, long epoch, long call) {
        int h = (int) 2166136261L;
        for (byte b : (router + "\0" + circuit + "\0" + epoch + "\0" + call).getBytes(StandardCharsets.UTF_8)) {
            h = (h ^ (b & 0xff)) * 16777619;
        }
        return Integer.remainderUnsigned(h, 1000) / 1000.0;
    }

    private static Decision refuses(Instant retryAt) { return new Decision(Word.REFUSES, retryAt); }

    static Instant time(JsonNode text) { return text.isNull() ? null : Instant.parse(text.asText()); }

    /** Checks the table by a file with vectors for routers in all languages, decisions.json. */
    public static void main(String[] args) throws Exception {
        int wrong = 0;
        var vectors = new ObjectMapper().readTree(new File(args[0]));
        for (var v : vectors) {
            var got = of(v.get("state"), time(v.get("now")), v.get("router").asText(), v.get("call").asLong());
            var want = new Decision(Word.valueOf(v.get("decision").asText().toUpperCase()), time(v.get("retry_at")));
            if (Objects.equals(got, want)) continue;
            System.err.println(v.get("name").asText() + ": " + got + ", want " + want);
            wrong++;
        }
        System.out.println(vectors.size() - wrong + " of " + vectors.size() + " decisions are right");
        System.exit(wrong == 0 && vectors.size() > 50 ? 0 : 1);
    }
}
