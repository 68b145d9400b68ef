# The table "What a router does" of docs/routers.md, for a record of the state topic, or null. $now is a time as it
# stands in records, which sort as text; $chance, from 0 up to 1, is who passes a ramp.

def derive($now):
  if .override.until != null and $now >= .override.until
  then .state = .override.then | .retry_at = .override.until
    | .override = null | .cause = null | .leases = [] | .ramp = []
  else . end
  | .leases |= map(select($now < .expires_at))
  | .ramp |= map(select($now < .until));

def decide($now; $chance):
  if . == null then {decision: "admits", retry_at: null} else
    derive($now)
    | if (.enforced | not) or .state == "forced_closed" or .state == "disabled" then {decision: "admits", retry_at: null}
      elif .state == "closed" and (.ramp == [] or $chance < .ramp[0].share) then {decision: "admits", retry_at: null}
      elif .state == "closed" then {decision: "refuses", retry_at: .ramp[0].until}
      elif .state == "forced_open" then {decision: "refuses", retry_at: .override.until}
      elif .state == "open" and $now < .retry_at then {decision: "refuses", retry_at}
      elif .state == "half_open" and (.leases | length) >= .probe.concurrency
      then {decision: "refuses", retry_at: (.leases | map(.expires_at) | min)}
      else {decision: "probes", retry_at: null} end
  end;

def why:
  if .state == "half_open" and .leases != [] then "it is being tested by \(.leases[0].holder)"
  elif .override != null then "\(.override.actor): \(.override.reason)"
  elif .cause != null then
    "\(.cause.rule) (\(.cause.by_kind | to_entries | map("\(.value) \(.key)") | join(", ")))"
  else "it is \(.state)" end;
