// A route whose answers lose their evidence and find it again, HTTP 200 all the time.
//
//   fusebox dev --policy examples/policies.yaml
//   npm install && node example.js
'use strict'
const { parseArgs } = require('node:util')
const { setTimeout: pause } = require('node:timers/promises')
const { Refused, Router } = require('./router')

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    brokers: { type: 'string', default: process.env.FUSEBOX_BROKERS || '127.0.0.1:9092' },
    name: { type: 'string', default: 'router-1' }, // No two routers may have the same.
    partitioner: { type: 'string', default: 'murmur2' }, // Or 'first', which puts all records in partition 0.
    then: { type: 'string', default: 'recover' } // Or 'hang': what the model does once its circuit has opened.
  }
})

// ask stands for a model: its answers have no sources from the 6th call to the 11th.
let asked = 0
let hangs = false
async function ask (question) {
  asked++
  if (hangs) await pause(60000)
  return { text: 'It is 4711.', sources: asked >= 6 && asked <= 11 ? [] : ['page 3'] }
}

// judge says what an answer was worth. This is yours to write.
function judge (answer) {
  if (answer.sources.length === 0) return ['missing_evidence', { reason_code: 'no_citation', stage: 'retrieval' }]
  return ['accepted', {}]
}

// guarded enters a circuit, calls, judges and reports. It returns the kind of the outcome.
async function guarded (router, circuit, ask, more = {}) {
  const admission = await router.enter(circuit)
  if (admission.lease) {
    console.log(`${circuit} probe ${admission.lease}, until ${new Date(admission.expiresAt).toISOString()}`)
  }
  let kind, details
  try {
    [kind, details] = judge(await ask('What is the policy number?'))
  } catch (failed) {
    [kind, details] = ['transport_failure', { reason: failed.message }]
  }
  await router.report(admission, kind, { ...details, ...more })
  console.log(`${circuit} ${kind}${admission.lease ? ' by the probe' : ''}`)
  return kind
}

async function main () {
  const circuit = positionals[0] ?? 'submission-extraction:gpt-primary:v4'
  const createPartitioner = flags.partitioner === 'first' ? () => () => 0 : undefined
  const router = new Router({ brokers: flags.brokers.split(','), name: flags.name, createPartitioner })
  await router.open()
  for (let refused = false, recovered = 0; recovered < 4; await pause(100)) {
    try {
      const kind = await guarded(router, circuit, ask)
      recovered += refused && kind === 'accepted' ? 1 : 0
    } catch (refusal) {
      if (!(refusal instanceof Refused)) throw refusal
      refused = true
      recovered = 0
      hangs = flags.then === 'hang'
      console.log(refusal.message)
      const [other] = router.instead(circuit, refusal.cause?.kind)
      if (other) await guarded(router, other, () => ({ sources: ['page 3'] }), { fallback_from: circuit })
    }
  }
  await router.close()
}

main().catch(failed => { console.error(failed); process.exit(1) })
