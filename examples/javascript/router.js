// A router and producer for Fusebox, on KafkaJS. docs/routers.md and docs/producers.md say what it goes by.
'use strict'
const { randomUUID } = require('node:crypto')
const { EventEmitter, once } = require('node:events')
const { setTimeout: pause } = require('node:timers/promises')
const { Kafka, Partitioners, logLevel } = require('kafkajs')
const { decide, derive } = require('./decide')

// Refused says that a call may not be made: why, and when to come back, null where nobody can say.
class Refused extends Error {
  constructor (circuit, state, retryAt) {
    const again = retryAt ? `; try again in ${(Math.max(100, retryAt - Date.now()) / 1000).toFixed(1)}s` : ''
    super(`${circuit} refuses: ${why(state)}${again}`)
    Object.assign(this, { circuit, state, cause: state.cause, retryAt })
  }
}

function why ({ state, leases, override, cause }) {
  if (state === 'half_open' && leases.length > 0) return `it is being tested by ${leases[0].holder}`
  if (override) return `${override.actor}: ${override.reason}`
  if (!cause) return `it is ${state}`
  const kinds = Object.entries(cause.by_kind).map(([kind, n]) => `${n} ${kind}`).join(', ')
  return `${cause.rule} (${kinds || cause.kind})`
}

// Router follows the state of every circuit, and says what became of calls.
class Router {
  constructor ({ brokers, name, prefix = 'fusebox.', createPartitioner = Partitioners.DefaultPartitioner, probeWait = 500 }) {
    Object.assign(this, { name, prefix, probeWait, states: new Map(), routes: [], calls: 0, rests: new Map() })
    this.changes = new EventEmitter().setMaxListeners(0)
    const kafka = new Kafka({ clientId: name, brokers, logLevel: logLevel.WARN })
    // The default partitioner is Java's, murmur2: the partition that Fusebox counts the circuit in.
    this.producer = kafka.producer({ idempotent: true, createPartitioner })
    // KafkaJS reads by groups alone, so each router is one of its own. It reads committed records only, by default.
    this.consumer = kafka.consumer({ groupId: `router-${randomUUID()}`, maxWaitTimeInMs: 100 })
    this.admin = kafka.admin()
  }

  // open reads the state topic to its ends as they are now.
  async open () {
    const topic = this.prefix + 'circuit-state.v1'
    await Promise.all([this.producer.connect(), this.consumer.connect(), this.admin.connect()])
    const behind = new Map((await this.admin.fetchTopicOffsets(topic)).filter(p => p.high > 0).map(p => [p.partition, p.high]))
    const read = (partition, next) => {
      if (behind.has(partition) && next >= BigInt(behind.get(partition))) behind.delete(partition)
      if (behind.size === 0) this.changes.emit('caught up')
    }
    const caughtUp = behind.size > 0 && once(this.changes, 'caught up', { signal: AbortSignal.timeout(30000) })
    // A batch can end with records that are no messages, such as the end of a transaction: its event counts them.
    this.consumer.on('consumer.end_batch_process', ({ payload }) => read(payload.partition, BigInt(payload.lastOffset) + 1n))
    await this.consumer.subscribe({ topic, fromBeginning: true })
    await this.consumer.run({
      autoCommit: false,
      eachMessage: async ({ message }) => this.take(message.key.toString(), message.value)
    })
    await caughtUp
  }

  // take takes a record in, unless a newer one of its circuit is known.
  take (key, value) {
    if (key === '\0policies') {
      this.routes = JSON.parse(value).routes
    } else if (!key.startsWith('\0')) { // Else it is a heartbeat.
      const state = value && JSON.parse(value)
      const old = this.states.get(key)
      const newer = !old || state?.born > old.born || (state?.born === old.born && state.sequence > old.sequence)
      if (!state) this.states.delete(key)
      else if (newer) this.states.set(key, state)
      this.changes.emit(key)
    }
  }

  // enter admits a call, or throws Refused. Where a probe is due it claims the lease, and waits for it.
  async enter (circuit) {
    const [state, now] = [this.states.get(circuit), Date.now()]
    const { decision, retryAt } = decide(state, now, this.name, ++this.calls)
    if (decision === 'admits') return { circuit, epoch: state ? state.epoch : 0, lease: '', began: now }
    const rest = this.rests.get(circuit) ?? 0
    if (decision === 'refuses' || now < rest) throw new Refused(circuit, derive(state, now), retryAt ?? rest)
    return this.claim(circuit)
  }

  // claim asks for the lease of a probe, one call at a time, and waits for the answer.
  async claim (circuit) {
    const lease = randomUUID()
    this.rests.set(circuit, Date.now() + 2 * this.probeWait) // Until then other calls are refused.
    await pause(Math.random() * 100) // Not all routers at once.
    const due = this.states.get(circuit)
    if (due && decide(due, Date.now(), this.name, this.calls).decision === 'probes') {
      const answer = once(this.changes, circuit, { signal: AbortSignal.timeout(this.probeWait) }).catch(() => {})
      await this.signal(circuit, { type: 'claim', holder: this.name, lease, epoch: due.epoch })
      await answer
      const state = this.states.get(circuit) ?? due
      const granted = state.leases.find(one => one.id === lease)
      if (granted) {
        this.rests.delete(circuit)
        return { circuit, epoch: state.epoch, lease, expiresAt: Date.parse(granted.expires_at), began: Date.now() }
      }
      await this.signal(circuit, { type: 'release', lease, unused: true }) // Should it be granted after all.
    }
    throw new Refused(circuit, derive(this.states.get(circuit) ?? due, Date.now()), this.rests.get(circuit))
  }

  // instead returns where to go when a circuit refuses, or gave no usable answer, for a kind.
  instead (circuit, kind) {
    const route = this.routes.find(r => r.chain.includes(circuit))
    return route?.by_cause?.[kind] ?? route?.chain.slice(route.chain.indexOf(circuit) + 1) ?? []
  }

  // report says once what became of an admitted call. `more` has other fields of an outcome.
  async report ({ circuit, epoch, lease, began }, kind, more = {}) {
    const now = Date.now()
    await this.send('outcomes.v1', circuit, {
      id: randomUUID(), circuit, kind, time: new Date(now), latency_ms: now - began, source: this.name, epoch, lease, ...more
    })
  }

  // release gives an admission back: the caller gave up, which is no evidence. Unused: the call was never made.
  async release ({ circuit, lease }, unused = false) {
    if (lease) await this.signal(circuit, { type: 'release', lease, unused })
  }

  signal (circuit, fields) { return this.send('signals.v1', circuit, { circuit, ...fields }) }

  send (topic, circuit, value) {
    return this.producer.send({ topic: this.prefix + topic, acks: -1, messages: [{ key: circuit, value: JSON.stringify(value) }] })
  }

  async close () {
    await Promise.all([this.producer.disconnect(), this.consumer.disconnect(), this.admin.disconnect()])
  }
}

module.exports = { Refused, Router }
