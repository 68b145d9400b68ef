import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * A route whose answers lose their evidence and find it again, HTTP 200 all the time. In this folder, beside
 * `fusebox dev --policy ../policies.yaml`:
 *
 * <pre>
 *   mvn -q dependency:copy-dependencies -DoutputDirectory=target
 *   javac -cp 'target/*' -d target *.java
 *   java -cp 'target:target/*' Example
 * </pre>
 */
class Example {
    record Answer(String text, List<String> sources) { }

    record Verdict(String kind, Map<String, String> details) { }

    private static int asked;
    private static boolean hangs;

    /** Stands for a model: its answers have no sources from the 6th call to the 11th. */
    static Answer ask() {
        asked++;
        if (hangs) sleep(60_000);
        return new Answer("It is 4711.", asked >= 6 && asked <= 11 ? List.of() : List.of("page 3"));
    }

    /** Says what an answer was worth. This is yours to write. */
    static Verdict judge(Answer answer) {
        if (!answer.sources().isEmpty()) return new Verdict("accepted", Map.of());
        return new Verdict("missing_evidence", Map.of("reason_code", "no_citation", "stage", "retrieval"));
    }

    /** Enters a circuit, calls, judges and reports. Returns the kind of the outcome. */
    static String guarded(Router router, String circuit, Supplier<Answer> call, Map<String, String> more)
            throws Router.Refused, InterruptedException {
        var admission = router.enter(circuit);
        var probe = !admission.lease().isEmpty();
        if (probe) say("%s probe %s, until %s", circuit, admission.lease(), admission.expiresAt());
        Verdict verdict;
        try {
            verdict = judge(call.get());
        } catch (RuntimeException failed) {
            verdict = new Verdict("transport_failure", Map.of("reason", String.valueOf(failed.getMessage())));
        }
        var fields = new HashMap<>(verdict.details());
        fields.putAll(more);
        router.report(admission, verdict.kind(), fields);
        say("%s %s%s", circuit, verdict.kind(), probe ? " by the probe" : "");
        return verdict.kind();
    }

    public static void main(String[] args) throws Exception {
        var flags = new HashMap<String, String>();
        for (int i = 0; i + 1 < args.length; i += 2) flags.put(args[i], args[i + 1]);
        var circuit = args.length % 2 == 1 ? args[args.length - 1] : "submission-extraction:gpt-primary:v4";
        var more = new HashMap<String, String>();
        if (flags.containsKey("--partitioner")) more.put("partitioner.class", flags.get("--partitioner"));
        var known = System.getenv().getOrDefault("FUSEBOX_BROKERS", "127.0.0.1:9092");
        var brokers = flags.getOrDefault("--brokers", known);
        // No two routers may have the same name.
        try (var router = new Router(brokers, flags.getOrDefault("--name", "router-1"), "fusebox.", more)) {
            var refused = false;
            for (int recovered = 0; recovered < 4; sleep(100)) {
                try {
                    var kind = guarded(router, circuit, Example::ask, Map.of());
                    if (refused && kind.equals("accepted")) recovered++;
                } catch (Router.Refused refusal) {
                    refused = true;
                    recovered = 0;
                    hangs = "hang".equals(flags.get("--then")); // What the model does once its circuit has opened.
                    say("%s", refusal.getMessage());
                    for (var other : router.instead(circuit, refusal.cause.path("kind").asText())) {
                        var good = new Answer("It is 4711.", List.of("page 3"));
                        guarded(router, other, () -> good, Map.of("fallback_from", circuit));
                        break;
                    }
                }
            }
        }
    }

    private static void say(String format, Object... values) {
        System.out.println(format.formatted(values));
    }

    private static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException stop) {
            throw new IllegalStateException(stop);
        }
    }
}
