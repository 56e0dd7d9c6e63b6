import { describe, expect, it } from 'vitest'
import { Fault } from '../../runtime/core/errors.ts'
import type { CredentialName, Place } from '../../runtime/secrets/catalogue.ts'
import {
  type Given,
  type GivenCredentials,
  plainVariables,
  resolveCredentials,
  resolveOwn,
} from '../../runtime/secrets/resolve.ts'
import { newSealed, type SealedSecrets } from '../../runtime/secrets/sealed.ts'
import { Secret } from '../../runtime/secrets/secret.ts'
import type { SecretManager, SecretRead } from '../../runtime/secrets/secret-manager.ts'

const TEST: Place = { host: 'api.razorpay.com', environment: 'test' }
const LIVE: Place = { ...TEST, environment: 'live' }
const STAND_IN: Place = { host: '127.0.0.1', environment: 'loopback' }

const TEST_ID = 'rzp_test_AbCdEfGhIjKlMn'
const LIVE_ID = 'rzp_live_AbCdEfGhIjKlMn'
const VALUE = 'a-secret-value-of-this-test'

const variable = (value: string): Given => ({ from: 'variable', value: new Secret(value) })
const file = (value: string): Given => ({ from: 'file', value: new Secret(value) })

const empty = await newSealed(new Secret('a passphrase of this test'))

/** A manager over fixed answers, which remembers what it was asked. */
function managerOf(answers: Readonly<Record<string, SecretRead>>) {
  const asked: string[] = []
  const manager: SecretManager = {
    access: async (reference) => {
      asked.push(reference)
      return answers[reference] ?? { kind: 'refused', reason: 'there is no such secret' }
    },
    close: async () => undefined,
  }
  return { asked, manager: () => manager }
}
const nobody = () => {
  throw new Error('expected nobody to ask')
}

interface Ask {
  readonly place?: Place
  readonly given?: GivenCredentials
  readonly sealed?: SealedSecrets
  readonly secretManager?: () => SecretManager
  readonly optional?: readonly CredentialName[]
}

async function resolve(names: readonly CredentialName[], ask: Ask) {
  const { place = TEST, given = {}, sealed, secretManager = nobody, optional = [] } = ask
  const sources = { given, sealed, secretManager }
  return resolveCredentials({ names, optional, ...place, sources })
}

async function refusal(names: readonly CredentialName[], ask: Ask): Promise<string> {
  try {
    await resolve(names, ask)
  } catch (error) {
    if (error instanceof Fault && error.code === 'config_invalid' && !error.retryable) {
      for (const value of [VALUE, TEST_ID, LIVE_ID]) expect(error.message).not.toContain(value)
      return error.message
    }
    throw error
  }
  return 'resolved'
}

describe('a credential', () => {
  it('comes from a variable, a file, the sealed file or Secret Manager, and says from which', async () => {
    const { manager, asked } = managerOf({
      'sm://x': { kind: 'value', secret: new Secret(VALUE) },
    })
    const sealed = empty.with(
      { name: 'RAZORPAY_WEBHOOK_SECRET_PREVIOUS', ...TEST },
      new Secret(VALUE),
    )
    const found = await resolve(
      ['RAZORPAY_KEY_ID', 'RAZORPAY_KEY_SECRET', 'RAZORPAY_WEBHOOK_SECRET'],
      {
        given: {
          RAZORPAY_KEY_ID: variable(TEST_ID),
          RAZORPAY_KEY_SECRET: file(VALUE),
          RAZORPAY_WEBHOOK_SECRET: variable('sm://x'),
        },
        sealed,
        secretManager: manager,
        optional: ['RAZORPAY_WEBHOOK_SECRET_PREVIOUS'],
      },
    )
    const from = Object.entries(found).map(([name, { from }]) => [name, from])
    expect(Object.fromEntries(from)).toEqual({
      RAZORPAY_KEY_ID: 'variable',
      RAZORPAY_KEY_SECRET: 'file',
      RAZORPAY_WEBHOOK_SECRET: 'secret-manager',
      RAZORPAY_WEBHOOK_SECRET_PREVIOUS: 'sealed file',
    })
    expect(found.RAZORPAY_KEY_ID?.secret.reveal()).toBe(TEST_ID)
    expect(asked).toEqual(['sm://x'])
  })

  it('that is missing is named, with all others that are wrong', async () => {
    const said = await refusal(['RAZORPAY_KEY_ID', 'RAZORPAY_KEY_SECRET'], {
      given: { RAZORPAY_KEY_SECRET: variable('short') },
    })
    expect(said).toMatch(/expected RAZORPAY_KEY_ID for api\.razorpay\.com \(test\)/)
    expect(said).toMatch(/RAZORPAY_KEY_SECRET is wrong: expected 8 or more/)
  })

  it('that is optional may be absent, and is judged where it is there', async () => {
    const optional = ['RAZORPAY_WEBHOOK_SECRET_PREVIOUS'] as const
    expect(await resolve([], { optional })).toEqual({})
    const given = { RAZORPAY_WEBHOOK_SECRET_PREVIOUS: variable('short') }
    expect(await refusal([], { optional, given })).toMatch(/PREVIOUS is wrong/)
  })

  it.each([variable(VALUE), file(VALUE)])('in two sources is refused: %j', async (given) => {
    const sealed = empty.with({ name: 'RAZORPAY_KEY_SECRET', ...TEST }, new Secret(VALUE))
    const both = { given: { RAZORPAY_KEY_SECRET: given }, sealed }
    expect(await refusal(['RAZORPAY_KEY_SECRET'], both)).toMatch(/given twice/)
  })

  it('in two sources is refused although only one of them is for this place', async () => {
    const sealed = empty.with({ name: 'RAZORPAY_KEY_SECRET', ...LIVE }, new Secret(VALUE))
    const both = { given: { RAZORPAY_KEY_SECRET: variable(VALUE) }, sealed }
    expect(await refusal(['RAZORPAY_KEY_SECRET'], both)).toMatch(/given twice/)
  })

  it('of live money resolves for nothing that is a test, and the reverse', async () => {
    const id = (value: string) => ({ given: { RAZORPAY_KEY_ID: variable(value) } })
    expect(await refusal(['RAZORPAY_KEY_ID'], id(LIVE_ID))).toMatch(
      /RAZORPAY_KEY_ID is bound to api\.razorpay\.com \(live\), and api\.razorpay\.com \(test\) was asked for/,
    )
    expect(await refusal(['RAZORPAY_KEY_ID'], { ...id(TEST_ID), place: LIVE })).toMatch(
      /RAZORPAY_KEY_ID is bound to api\.razorpay\.com \(test\), and api\.razorpay\.com \(live\) was/,
    )
    expect(await refusal(['RAZORPAY_KEY_ID'], { ...id(LIVE_ID), place: STAND_IN })).toMatch(
      /bound to api\.razorpay\.com \(live\), and 127\.0\.0\.1 \(loopback\) was asked for/,
    )
    expect(await refusal(['RAZORPAY_KEY_ID'], id('rzp_test_short'))).toMatch(/is wrong: expected/)
    const live = await resolve(['RAZORPAY_KEY_ID'], { ...id(LIVE_ID), place: LIVE })
    expect(live.RAZORPAY_KEY_ID?.secret.reveal()).toBe(LIVE_ID)
  })

  it('that is sealed for one place resolves for no other, and both are named', async () => {
    const bound = { name: 'RAZORPAY_KEY_SECRET', ...TEST } as const
    const sealed = empty.with(bound, new Secret(VALUE))
    const names = ['RAZORPAY_KEY_SECRET'] as const
    expect((await resolve(names, { sealed })).RAZORPAY_KEY_SECRET?.secret.reveal()).toBe(VALUE)
    expect(await refusal(names, { sealed, place: LIVE })).toBe(
      'RAZORPAY_KEY_SECRET is bound to api.razorpay.com (test), and api.razorpay.com (live) was asked for',
    )
    expect(await refusal(names, { sealed, place: STAND_IN })).toMatch(
      /bound to api\.razorpay\.com \(test\), and 127\.0\.0\.1 \(loopback\) was asked for/,
    )
  })

  it.each([
    ['api.paypal.com', 'test'],
    ['api.razorpay.com.evil.example', 'test'],
    ['api.razorpay.com', 'sandbox'],
    ['api-m.paypal.com', 'live'],
  ] as const)(
    'of Razorpay resolves for no host that is not its own: %s (%s)',
    async (host, environment) => {
      const given = { RAZORPAY_KEY_SECRET: variable(VALUE) }
      const said = await refusal(['RAZORPAY_KEY_SECRET'], { given, place: { host, environment } })
      expect(said).toContain('RAZORPAY_KEY_SECRET is bound to api.razorpay.com (test)')
      expect(said).toContain(`${host} (${environment}) was asked for`)
    },
  )

  it('of the gateway’s own is for no host at all', async () => {
    const given = { HEADGATE_OPERATOR_TOKEN: variable(VALUE) }
    expect(await refusal(['HEADGATE_OPERATOR_TOKEN'], { given })).toMatch(/bound to no host/)
  })

  it('that Secret Manager refuses says why, in our words', async () => {
    const { manager } = managerOf({})
    const given = { RAZORPAY_KEY_SECRET: file('sm://y') }
    expect(await refusal(['RAZORPAY_KEY_SECRET'], { given, secretManager: manager })).toBe(
      'RAZORPAY_KEY_SECRET cannot be read from Secret Manager: there is no such secret',
    )
  })

  it('from Secret Manager is judged like any other', async () => {
    const { manager } = managerOf({ 'sm://x': { kind: 'value', secret: new Secret(LIVE_ID) } })
    const given = { RAZORPAY_KEY_ID: variable('sm://x') }
    expect(await refusal(['RAZORPAY_KEY_ID'], { given, secretManager: manager })).toMatch(
      /bound to api\.razorpay\.com \(live\)/,
    )
  })
})

describe('the gateway’s own keys and passphrase', () => {
  it('may be references too', async () => {
    const { manager } = managerOf({ 'sm://x': { kind: 'value', secret: new Secret(VALUE) } })
    const given = { HEADGATE_SECRETS: variable('sm://x'), HEADGATE_PASSPHRASE: file('words') }
    const sources = { given, secretManager: manager }
    expect((await resolveOwn('HEADGATE_SECRETS', sources))?.reveal()).toBe(VALUE)
    expect((await resolveOwn('HEADGATE_PASSPHRASE', sources))?.reveal()).toBe('words')
    expect(await resolveOwn('HEADGATE_SECRETS', { ...sources, given: {} })).toBeUndefined()
  })
})

describe('the weaker way', () => {
  it('is a value in a variable, not a file and not a reference', () => {
    expect(
      plainVariables({
        GROQ_API_KEY: variable(VALUE),
        RAZORPAY_KEY_ID: file(TEST_ID),
        PAYPAL_CLIENT_ID: variable('sm://x'),
      }),
    ).toEqual(['GROQ_API_KEY'])
  })
})
