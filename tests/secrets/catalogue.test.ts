import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  CATALOGUE,
  CREDENTIAL_NAMES,
  misfit,
  placesOf,
  SEALABLE,
} from '../../runtime/secrets/catalogue.ts'
import { ROOT } from '../support/source.ts'

const example = readFileSync(join(ROOT, '.env.example'), 'utf8')

/** Of each commented variable: its sentence, where it is good, and its name. */
const blocks = example.split('\n\n').filter((block) => /^#? ?[A-Z_]+=/m.test(block))

describe('the catalogue', () => {
  it('is what `.env.example` names, in its order, each with its sentence and its hosts', () => {
    const expected = CREDENTIAL_NAMES.map((name) => {
      const hosts = placesOf(name).map(({ host, environment }) => `${host} (${environment})`)
      const bound = hosts.length === 0 ? [] : [`# For ${hosts.join(', ')}.`]
      return [`# ${CATALOGUE[name].what}`, ...bound, `#${name}_FILE=`].join('\n')
    })
    expect(blocks.map((block) => block.trim())).toEqual(expected)
  })

  it('names what the README and the deployed files name, and they name no other', () => {
    const files = ['README.md', 'deploy/headgate.service', 'deploy/service.yaml'].map((path) =>
      readFileSync(join(ROOT, path), 'utf8'),
    )
    const known = new Set<string>(CREDENTIAL_NAMES)
    const named = files
      .flatMap((text) => text.match(/\b(?:RAZORPAY|PAYPAL|GEMINI|GROQ)_[A-Z_]+[A-Z]\b/g) ?? [])
      .map((name) => name.replace(/_FILE$/, ''))
    expect(named.length).toBeGreaterThan(3)
    expect(named.filter((name) => !known.has(name))).toEqual([])
  })

  it('binds each credential to hosts of one owner, and never a live one to another’s environment', () => {
    for (const name of SEALABLE) {
      const places = placesOf(name)
      expect(new Set(places.map(({ environment }) => environment)).size).toBe(places.length)
      const sandbox = places.find(({ environment }) => environment === 'sandbox')
      const live = places.find(({ environment }) => environment === 'live')
      if (sandbox && live) expect(sandbox.host).not.toBe(live.host)
    }
  })

  it.each([
    ['rzp_test_AbCdEfGhIjKlMn', 'test', true],
    ['rzp_live_AbCdEfGhIjKlMn', 'live', true],
    ['rzp_live_AbCdEfGhIjKlMn', 'test', false],
    ['rzp_test_AbCdEfGhIjKlMn', 'live', false],
    ['rzp_test_AbCdEfGhIjKlMn\n', 'test', false],
    ['RZP_TEST_AbCdEfGhIjKlMn', 'test', false],
    ['rzp_test_AbCdEfGhIjKlM', 'test', false],
  ] as const)('tells a key of Razorpay by its prefix: %j in %s', (value, environment, fits) => {
    const place = { host: 'api.razorpay.com', environment }
    expect(misfit('RAZORPAY_KEY_ID', place, value) === undefined).toBe(fits)
  })

  it.each(['', 'short', 'with space in it', 'line\nend-of-it', 'x'.repeat(4_097)])(
    'takes no secret that cannot be one: %j',
    (value) => {
      const place = { host: 'api.groq.com', environment: 'live' } as const
      expect(misfit('GROQ_API_KEY', place, value)).toMatch(/^GROQ_API_KEY is wrong: expected 8/)
    },
  )
})
