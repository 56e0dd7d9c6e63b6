import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Secret } from '../../runtime/secrets/secret.ts'
import { type PaypalStandIn, startPaypalStandIn } from '../support/paypal-stand-in.ts'
import { type RazorpayStandIn, startRazorpayStandIn } from '../support/razorpay-stand-in.ts'
import { run } from './io.ts'

const dir = mkdtempSync(join(tmpdir(), 'rail-'))
const data = join(dir, 'data')
let razorpay: RazorpayStandIn
let barred: RazorpayStandIn
let paypal: PaypalStandIn
const said: string[] = []

beforeAll(async () => {
  razorpay = await startRazorpayStandIn()
  barred = await startRazorpayStandIn({ payoutsEnabled: false })
  paypal = await startPaypalStandIn()
})
afterAll(async () => {
  await Promise.all([razorpay.close(), barred.close(), paypal.close()])
  rmSync(dir, { recursive: true })
})

const PASSPHRASE = 'a passphrase of some length'

interface Over {
  readonly url: string
  readonly env: Readonly<Record<string, string>>
}

let made = 0

/** The command, over a rail at a stand-in. */
async function rail(
  { url, env }: Over,
  args: readonly string[],
  payees: object = {},
  given: Readonly<Record<string, string>> = {},
) {
  made += 1
  const file = join(dir, `config-${made}.json`)
  const isRazorpay = 'RAZORPAY_KEY_ID' in env
  writeFileSync(
    file,
    JSON.stringify({
      organisation: 'acme',
      gateway: { id: 'headgate.acme', url: 'https://headgate.example' },
      principals: [],
      payees: Object.entries(payees).map(([id, account]) => ({
        id,
        name: id,
        accounts: { [isRazorpay ? 'razorpay' : 'paypal']: account },
      })),
      merchants: [],
      rail: isRazorpay
        ? { name: 'razorpay', accountNumber: razorpay.accountNumber, url }
        : { name: 'paypal', url },
    }),
  )
  const ran = await run(['rail', ...args, '--data', data, '--config', file], {
    environment: {
      credentials: Object.fromEntries(
        Object.entries({ ...env, ...given }).map(([name, value]) => [
          name,
          { from: 'file' as const, value: new Secret(value) },
        ]),
      ),
    },
  })
  said.push(ran.out, ran.err)
  return ran
}

/** A client of the stand-in without what is optional. */
const poorer = ({ url, env }: Over, ...left: string[]): Over => ({
  url,
  env: Object.fromEntries(Object.entries(env).filter(([name]) => !left.includes(name))),
})

describe('rail check', () => {
  it('says that the rail can be used, and what it cannot do', async () => {
    const payees = { lane: razorpay.accounts[0] ?? '', desk: 'link', mart: razorpay.upi }
    const { code, err, json } = await rail(razorpay, ['check', '--json'], payees)
    expect([code, err]).toEqual([0, ''])
    expect(json()).toEqual({
      rail: 'razorpay',
      host: '127.0.0.1',
      environment: 'loopback',
      ready: true,
      cannot: [
        'it pays in INR only: lane, mart',
        'it authorises nothing for later: each payment is made by itself',
      ],
    })
    const bare = poorer(paypal, 'PAYPAL_WEBHOOK_ID', 'PAYPAL_INSTRUMENT')
    const text = await rail(bare, ['check'], { desk: 'desk@example.com' })
    expect(text.out).toMatch(/^paypal at 127\.0\.0\.1 \(loopback\) can be used\n/)
    expect(text.out).toMatch(/PAYPAL_WEBHOOK_ID is not given/)
    expect(text.out).toMatch(/PAYPAL_INSTRUMENT is not given/)
  })

  it('tells an account that may not do everything from credentials that are not accepted', async () => {
    const limited = await rail(barred, ['check', '--json'])
    expect(limited.code).toBe(0)
    expect(limited.json<{ cannot: string[] }>().cannot[0]).toMatch(/can make no payouts/)
    const wrong = {
      url: razorpay.url,
      env: { ...razorpay.env, RAZORPAY_KEY_SECRET: 'not-the-secret' },
    }
    const refused = await rail(wrong, ['check', '--json'])
    expect([refused.code, refused.json<{ ready: boolean }>().ready]).toEqual([12, false])
    expect(refused.err).toMatch(/does not accept the keys \[rail_unconfigured\]/)
    const gone = await rail({ url: 'http://127.0.0.1:9', env: razorpay.env }, ['check'])
    expect([gone.code, gone.out]).toEqual([12, expect.stringMatching(/cannot be used now/)])
  })

  it('names the payees that could never be paid, with the code of the configuration', async () => {
    const wrong = await rail(razorpay, ['check'], {
      lane: 'fa_short',
      desk: 'order',
      shop: 'a@b.c',
    })
    expect([wrong.code, wrong.out]).toEqual([3, ''])
    expect(wrong.err).toMatch(/for the payee lane; .* for the payee shop/)
    expect(wrong.err).not.toMatch(/desk|fa_short/)
  })
})

describe('rail register-payee', () => {
  const bank = ['--ifsc', 'HDFC0000053', '--account-number', '765432123456789']

  it('prints the account to write into the configuration, the same again for the same payee', async () => {
    const first = await rail(razorpay, ['register-payee', '--name', 'Paper Lane', ...bank])
    expect([first.code, first.err]).toEqual([0, ''])
    expect(first.out).toMatch(/^fa_[A-Za-z0-9]{14}\n$/)
    const again = ['register-payee', '--name', 'Paper Lane', ...bank, '--json']
    expect((await rail(razorpay, again)).json()).toEqual({ account: first.out.trim() })
    const vpa = ['register-payee', '--name', 'Desk Bazaar', '--vpa', 'desk.bazaar@upi', '--json']
    const { account } = (await rail(razorpay, vpa)).json<{ account: string }>()
    const checked = await rail(razorpay, ['check'], { desk: account })
    expect([checked.code, account === first.out.trim()]).toEqual([0, false])
  })

  it('takes either an address of UPI or an account at a bank, well formed, in one sentence each', async () => {
    const name = ['register-payee', '--name', 'Paper Lane']
    for (const [args, sentence] of [
      [[...name], /expected --vpa, or --ifsc and --account-number/],
      [[...name, '--ifsc', 'HDFC0000053'], /expected --vpa, or/],
      [[...name, '--vpa', 'a@upi', ...bank], /cannot be used with/],
      [[...name, '--vpa', 'no address'], /expected --vpa as an address of UPI/],
      [
        [...name, '--ifsc', 'hdfc', '--account-number', '!'],
        /expected --ifsc.*\n.*--account-number/,
      ],
      [['register-payee', '--name', '₹', '--vpa', 'a@upi'], /expected --name of 3 to 50/],
    ] as const) {
      const ran = await rail(razorpay, args)
      expect([args, ran.code, ran.out]).toEqual([args, 2, ''])
      expect(ran.err).toMatch(sentence)
    }
  })

  it('is for Razorpay', async () => {
    const other = await rail(paypal, ['register-payee', '--name', 'Paper Lane', ...bank])
    expect([other.code, other.err]).toEqual([3, expect.stringMatching(/expected razorpay/)])
  })
})

describe('rail save-instrument', () => {
  const begin = async () =>
    (await rail(paypal, ['save-instrument', '--json'])).json<{
      setupToken: string
      approveUrl: string
    }>()
  const keep = (setupToken: string, ...to: string[]) =>
    rail(paypal, ['save-instrument', '--setup-token', setupToken, ...to])

  it('begins with where the payer agrees, and keeps the instrument in a file of its owner', async () => {
    const { setupToken, approveUrl } = await begin()
    expect(approveUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/agreements\/approve/)
    const out = join(dir, 'instrument')
    const early = await keep(setupToken, '--out', out)
    expect([early.code, existsSync(out)]).toEqual([11, false])
    expect(early.err).toMatch(/PayPal declined it: payer_action_required/)
    paypal.approve(setupToken)
    const saved = await keep(setupToken, '--out', out)
    expect([saved.code, saved.err]).toEqual([0, ''])
    const instrument = readFileSync(out, 'utf8').trim()
    expect(instrument).toMatch(/^[A-Za-z0-9_-]{4,}$/)
    expect(statSync(out).mode & 0o777).toBe(0o600)
    expect(said.join('')).not.toContain(instrument)
    // Never over another file, and nothing is asked of PayPal then.
    expect((await keep(setupToken, '--out', out)).code).toBe(2)
    expect(readFileSync(out, 'utf8').trim()).toBe(instrument)
    // What was lost on its way comes again.
    rmSync(out)
    expect((await keep(setupToken, '--out', out)).code).toBe(0)
    expect(readFileSync(out, 'utf8').trim()).toBe(instrument)
  })

  it('seals it as a credential of that place, once', async () => {
    const init = ['secrets', 'init', '--data', data, '--for', 'paypal', '--environment', 'loopback']
    const { setupToken } = await begin()
    paypal.approve(setupToken)
    const bare = poorer(paypal, 'PAYPAL_INSTRUMENT')
    const args = ['save-instrument', '--setup-token', setupToken, '--sealed']
    const nowhere = await rail(bare, args)
    expect([nowhere.code, nowhere.err]).toEqual([4, expect.stringMatching(/secrets init/)])
    const lines = [PASSPHRASE, PASSPHRASE, '', '', '', '']
    expect((await run(init, { lines })).code).toBe(0)
    const passphrase = { HEADGATE_PASSPHRASE: PASSPHRASE }
    const sealed = await rail(bare, args, {}, passphrase)
    expect([sealed.code, sealed.err]).toEqual([0, ''])
    const list = ['secrets', 'list', '--data', data]
    const listed = await run(list, { lines: [PASSPHRASE] })
    expect(listed.out).toBe('PAYPAL_INSTRUMENT  127.0.0.1  loopback\n')
    const twice = await rail(bare, args, {}, passphrase)
    expect([twice.code, twice.err]).toEqual([2, expect.stringMatching(/given already/)])
    rmSync(join(data, 'secrets.enc'))
  })

  it('wants a place for what it saves, and is for PayPal', async () => {
    for (const args of [
      ['--setup-token', 'abcd'],
      ['--out', 'x'],
      ['--sealed'],
      ['--setup-token', 'abcd', '--out', 'x', '--sealed'],
      ['--setup-token', 'a/../b', '--out', join(dir, 'never')],
    ]) {
      const ran = await rail(paypal, ['save-instrument', ...args])
      expect([args, ran.code, ran.out]).toEqual([args, 2, ''])
    }
    expect(existsSync(join(dir, 'never'))).toBe(false)
    const other = await rail(razorpay, ['save-instrument'])
    expect([other.code, other.err]).toEqual([3, expect.stringMatching(/expected paypal/)])
  })
})

it('nothing that is said about a rail holds a credential', () => {
  const values = [...Object.values(razorpay.env), ...Object.values(paypal.env), PASSPHRASE]
  for (const value of values) expect(said.join('')).not.toContain(value)
})
