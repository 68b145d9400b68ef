#!/usr/bin/env bash
# A router and producer of kcat and jq, on a route whose answers lose their evidence and find it again:
#
#   fusebox dev --policy examples/policies.yaml
#   examples/shell/example.sh [--brokers A] [--name N] [--partitioner P] [--then hang] [CIRCUIT]
#
# It reads the state topic anew at each call. That is well for a script; a program keeps reading.
set -euo pipefail
brokers=${FUSEBOX_BROKERS:-127.0.0.1:9092} name=router-1 then=recover hangs=
partitioner=murmur2_random # The partition that Fusebox counts the circuit in; kcat's own default is another.
while [[ ${1-} == --* ]]; do
    case $1 in
    --brokers) brokers=$2 ;;
    --name) name=$2 ;; # No two routers may have the same.
    --partitioner) partitioner=$2 ;;
    --then) then=$2 ;; # What the model does once its circuit has opened.
    *) echo "nobody knows $1" >&2 && exit 2 ;;
    esac
    shift 2
done
circuit=${1:-submission-extraction:gpt-primary:v4}
here=$(dirname "$0")

now() { date -u +%Y-%m-%dT%H:%M:%S.%3NZ; }
uuid() { cat /proc/sys/kernel/random/uuid; }

# ask FILTER ARGUMENT...: asks JSON on stdin, with what decide.jq defines.
ask() { jq -L "$here" -r --arg now "$(now)" "${@:2}" "include \"decide\"; $1"; }

# put TOPIC CIRCUIT: writes a record.
put() {
    kcat -P -b "$brokers" -t "fusebox.$1" -k "$2" -X topic.partitioner="$partitioner" -X acks=all
}

# known KEY [CIRCUIT]: the newest value of a key in the state topic, which is an expression of jq; null where there is
# none.
known() {
    kcat -C -q -J -e -b "$brokers" -t fusebox.circuit-state.v1 -o beginning \
        -X isolation.level=read_committed -X fetch.wait.max.ms=10 |
        jq -cn --arg circuit "${2-}" "reduce (inputs | select(.key == $1)) as \$record (null; \$record.payload) |
            if . == null then . else fromjson end"
}

# enter CIRCUIT: admits a call, sets epoch and lease; or fails, sets state. Claims the lease where a probe is due.
enter() {
    local decision wait
    state=$(known '$circuit' "$1") lease=
    decision=$(ask 'decide($now; $chance).decision' --argjson chance "0.$(printf %03d $((RANDOM % 1000)))" <<<"$state")
    if [ "$decision" = probes ]; then
        lease=$(uuid)
        jq -c --arg holder "$name" --arg lease "$lease" '{type: "claim", circuit, $holder, $lease, epoch}' \
            <<<"$state" | put signals.v1 "$1"
        for wait in 1 2 3 4 5; do
            state=$(known '$circuit' "$1")
            [ "$(jq --arg lease "$lease" 'any(.leases[]?; .id == $lease)' <<<"$state")" = true ] || continue
            decision=admits
            break
        done
        [ "$decision" = admits ] || # Should it be granted after all.
            jq -nc --arg lease "$lease" '{type: "release", $lease, unused: true}' | put signals.v1 "$1"
    fi
    epoch=$(jq '.epoch? // 0' <<<"$state")
    [ "$decision" = admits ]
}

# report CIRCUIT KIND FROM: says what became of the call that was admitted, in the place of another circuit or of none.
report() {
    jq -nc --arg id "$(uuid)" --arg circuit "$1" --arg kind "$2" --arg fallback_from "$3" --arg time "$(now)" \
        --arg source "$name" --argjson epoch "$epoch" --arg lease "$lease" \
        '{$id, $circuit, $kind, $time, $source, $epoch, $lease, $fallback_from}' | put outcomes.v1 "$1"
    echo "$1 $2${lease:+ by the probe}"
}

# model: the kind of the next answer. It stands for a model, and for who judges: answers 6 to 11 have no sources.
calls=0
model() {
    calls=$((calls + 1))
    [ "$hangs" != hang ] || sleep 60
    kind=accepted
    [ "$calls" -lt 6 ] || [ "$calls" -gt 11 ] || kind=missing_evidence
}

refused= recovered=0
while [ "$recovered" -lt 4 ]; do
    if enter "$circuit"; then
        [ -z "$lease" ] || jq -r --arg lease "$lease" '.leases[] | select(.id == $lease) |
            "\($circuit) probe \(.id), until \(.expires_at)"' --arg circuit "$circuit" <<<"$state"
        model
        report "$circuit" "$kind" ""
        [ -z "$refused" ] || [ "$kind" != accepted ] || recovered=$((recovered + 1))
        continue
    fi
    refused=yes recovered=0 hangs=$then
    ask '. as $record | derive($now) | "\(.circuit) refuses: \(why)"
        + ($record | decide($now; 0).retry_at | if . == null then "" else "; try again at \(.)" end)' <<<"$state"
    # The first of where the policies say to go for the cause.
    other=$(known '"\u0000policies"' | jq -r --arg circuit "$circuit" --arg kind "$(jq -r '.cause.kind?' <<<"$state")" \
        '.routes[] | select(.chain | index($circuit)) |
            .by_cause[$kind] // .chain[(.chain | index($circuit)) + 1:] | .[0] // ""')
    if [ -n "$other" ] && enter "$other"; then
        report "$other" accepted "$circuit"
    fi
done
