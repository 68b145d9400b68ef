// The table "What a router does" of docs/routers.md. It reads no clock and does no I/O.
'use strict'

// derive returns what time alone has made of a state.
function derive (state, now) {
  const ahead = text => now < Date.parse(text)
  const s = { ...state }
  if (s.override?.until && !ahead(s.override.until)) {
    Object.assign(s, { state: s.override.then, override: null, retry_at: s.override.until, leases: [], ramp: [], cause: null })
  }
  s.leases = s.leases.filter(lease => ahead(lease.expires_at))
  s.ramp = s.ramp.filter(step => ahead(step.until))
  return s
}

// place puts a call of a router between 0 and 1: it passes a ramp whose share is greater.
function place (router, circuit, epoch, call) {
  let h = 2166136261
  for (const byte of Buffer.from([router, circuit, epoch, call].join('\0'))) h = Math.imul(h ^ byte, 16777619)
  return (h >>> 0) % 1000 / 1000
}

// decide returns what becomes of a call, { decision, retryAt }, and when to come back where that is known, else null.
// 'admits': it goes through. 'probes': one call claims a lease, the others are refused. 'refuses': it does not.
// The state is that of the circuit's newest record, null for a circuit that nobody has heard of; now is in milliseconds.
function decide (state, now, router, call) {
  const admits = { decision: 'admits', retryAt: null }
  const refuses = text => ({ decision: 'refuses', retryAt: text ? Date.parse(text) : null })
  if (!state) return admits
  const s = derive(state, now)
  if (!s.enforced || s.state === 'forced_closed' || s.state === 'disabled') return admits
  if (s.state === 'closed') {
    const passes = s.ramp.length === 0 || place(router, s.circuit, s.epoch, call) < s.ramp[0].share
    return passes ? admits : refuses(s.ramp[0].until)
  }
  if (s.state === 'forced_open') return refuses(s.override.until)
  if (s.state === 'open' && now < Date.parse(s.retry_at)) return refuses(s.retry_at)
  if (s.state === 'half_open' && s.leases.length >= s.probe.concurrency) {
    return { decision: 'refuses', retryAt: Math.min(...s.leases.map(lease => Date.parse(lease.expires_at))) }
  }
  return { decision: 'probes', retryAt: null }
}

module.exports = { decide, derive }
