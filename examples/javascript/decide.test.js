// Checks decide by the vectors for routers in all languages: node --test
'use strict'
const assert = require('node:assert')
const test = require('node:test')
const { decide } = require('./decide')

const vectors = require('../../schemas/testdata/decisions.json')

test('there are vectors', () => assert(vectors.length > 50))
for (const v of vectors) {
  test(v.name, () => {
    const retryAt = v.retry_at ? Date.parse(v.retry_at) : null
    assert.deepEqual(decide(v.state, Date.parse(v.now), v.router, v.call), { decision: v.decision, retryAt })
  })
}
