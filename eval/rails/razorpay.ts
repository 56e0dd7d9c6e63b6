/**
 * Razorpay's adapter, used for everything. There is no document of Razorpay's to judge by, so that the stand-in's strict reading
 * stands for it: it takes what is sound, and refuses each unsound request without a trace on its books.
 */
import { createRazorpayRail, registerRazorpayPayee } from '../../runtime/rails/razorpay.ts'
import { startRazorpayStandIn } from '../../tests/support/razorpay-stand-in.ts'
import { RAZORPAY_CONTROLS } from './controls.ts'
import { type Endpoint, grouped, named, notReachedOf, of, type Survey } from './endpoints.ts'
import { type Observed, observing } from './observe.ts'
import { cancelOne, type FarSide, useRail } from './scenarios.ts'

export async function surveyRazorpay(): Promise<Survey> {
  const standIn = await startRazorpayStandIn()
  const barred = await startRazorpayStandIn({ payoutsEnabled: false })
  const seen: Observed[] = []
  const { url } = standIn
  const mode = 'test' as const
  const transport = observing('razorpay', seen)
  const optionsOf = ({ env, url, accountNumber }: typeof standIn) => ({
    mode,
    keyId: named(env, 'RAZORPAY_KEY_ID'),
    keySecret: named(env, 'RAZORPAY_KEY_SECRET'),
    webhookSecrets: [named(env, 'RAZORPAY_WEBHOOK_SECRET')],
    accountNumber,
    clock: { nowMs: () => Math.floor(nowMs()) },
    url,
    transport,
  })
  let aheadSeconds = 0
  const nowMs = () => performance.timeOrigin + performance.now() + aheadSeconds * 1000
  const advance = (seconds: number) => {
    aheadSeconds += seconds
    standIn.advance(seconds)
  }
  const far: FarSide = {
    currency: 'INR',
    accounts: [...standIn.accounts.slice(0, 2), 'link', 'order'],
    nowSeconds: () => Math.floor(nowMs() / 1000),
    advance,
    script: (on, fault) => standIn.script({ on, fault }),
    operationOf: (account) => (account.startsWith('fa_') ? 'payout.create' : `${account}.create`),
    approve: (reference) => void standIn.approve(reference),
    comeBack: (key) => standIn.comeBack(key),
    messages: () => standIn.messages(),
  }
  try {
    const rail = createRazorpayRail(optionsOf(standIn))
    const problems = await useRail(rail, far)
    // What waits for the account's balance can be called back.
    await cancelOne(rail, far, { account: far.accounts[0] ?? '', before: standIn.enqueue })
    // An account that may make no payouts is told apart by its orders.
    await createRazorpayRail(optionsOf(barred))
      .ready()
      .catch(() => undefined)
    await registerRazorpayPayee(optionsOf(standIn), {
      kind: 'vpa',
      name: 'Desk Bazaar',
      address: 'desk@upi',
    })
    const endpoints: Endpoint[] = []
    for (const group of grouped(seen, razorpayPath)) {
      const [first] = group.requests
      const sound = group.requests.find(({ status }) => status === 200)
      const operation = standIn.seen.find(({ path }) => path === first?.path)?.operation ?? 'none'
      const controls = sound === undefined ? undefined : await putControls(url, standIn, sound)
      endpoints.push({
        rail: 'razorpay',
        operation,
        method: group.method,
        path: group.path,
        places: group.places,
        judged: sound === undefined ? 'invalid' : 'not judged',
        by: 'no document; the stand-in’s strict reading takes it',
        why: sound === undefined ? ['the stand-in never took it'] : [],
        controls: controls ?? { refused: 0, taken: [] },
      })
    }
    return {
      endpoints,
      problems: problems.map(of('razorpay')),
      notReached: notReachedOf('razorpay', seen),
    }
  } finally {
    await standIn.close()
    await barred.close()
  }
}

const razorpayPath = ({ path }: Observed): string =>
  (path.split('?')[0] ?? '').replaceAll(/\/[a-z]+_[A-Za-z0-9]{14}/g, '/{id}')

/** Each is refused, and nothing is on the books by it. */
async function putControls(
  url: string,
  standIn: { book(): unknown },
  sound: Observed,
): Promise<Endpoint['controls']> {
  const taken: string[] = []
  let refused = 0
  for (const { what, change } of RAZORPAY_CONTROLS) {
    const request = change(sound)
    if (request === undefined) continue
    const before = JSON.stringify(standIn.book())
    const { method, path, headers, body } = request
    const answer = await fetch(new URL(path, url), {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
    })
    const isRefused = answer.status >= 400 && answer.status < 500
    if (isRefused && JSON.stringify(standIn.book()) === before) refused += 1
    else taken.push(what)
  }
  return { refused, taken }
}
