/** PayPal's adapter, used for everything; what it sends is judged by PayPal's own documents, where they are there. */
import { freshId } from '../../runtime/core/ids.ts'
import { createPaypalRail, createPaypalVault } from '../../runtime/rails/paypal.ts'
import { controlsOf } from '../../tests/support/paypal-controls.ts'
import {
  hasPaypalDocuments,
  loadPaypalDocuments,
  NO_DOCUMENTS,
  type PaypalDocuments,
} from '../../tests/support/paypal-openapi.ts'
import { startPaypalStandIn } from '../../tests/support/paypal-stand-in.ts'
import { type Endpoint, grouped, named, notReachedOf, of, type Survey } from './endpoints.ts'
import { type Observed, observing } from './observe.ts'
import { cancelOne, type FarSide, useRail } from './scenarios.ts'

export async function surveyPaypal(): Promise<Survey> {
  const standIn = await startPaypalStandIn()
  const seen: Observed[] = []
  const transport = observing('paypal', seen)
  const { env, url } = standIn
  const options = {
    mode: 'sandbox' as const,
    clientId: named(env, 'PAYPAL_CLIENT_ID'),
    clientSecret: named(env, 'PAYPAL_CLIENT_SECRET'),
    webhookId: named(env, 'PAYPAL_WEBHOOK_ID'),
    url,
    clock: { nowMs: () => standIn.nowMs() },
    transport,
  }
  const far: FarSide = {
    currency: 'USD',
    accounts: [...standIn.accounts, ...standIn.merchants],
    nowSeconds: () => Math.floor(standIn.nowMs() / 1000),
    advance: (seconds) => standIn.advance(seconds),
    script: (on, fault) => standIn.script({ on, fault }),
    operationOf: (account) => (account.startsWith('merchant:') ? 'order.create' : 'payout.create'),
    approve: (reference) => standIn.approve(reference),
    comeBack: (key) => standIn.comeBack(key),
    messages: () => standIn.messages(),
  }
  try {
    const rail = createPaypalRail(options)
    const problems = [
      ...(await useRail(rail, far)),
      ...(await useRail(createPaypalRail({ ...options, instrument: standIn.instrument }), far)),
    ]
    // What nobody has claimed can be called back.
    await cancelOne(rail, far, { account: 'unclaimed@example.com' })
    problems.push(...(await useVault(options, standIn)))
    const documents = hasPaypalDocuments ? loadPaypalDocuments() : undefined
    const endpoints = grouped(seen, paypalPath(documents)).map(judgedBy(documents))
    return {
      endpoints,
      problems: problems.map(of('paypal')),
      notReached: notReachedOf('paypal', seen),
    }
  } finally {
    await standIn.close()
  }
}

/** An instrument is saved and forgotten again. */
async function useVault(
  options: Parameters<typeof createPaypalVault>[0],
  { approve }: { approve(reference: string): void },
): Promise<readonly string[]> {
  const vault = createPaypalVault(options)
  const [key, returnUrl, cancelUrl] = [
    freshId(),
    'https://example.com/yes',
    'https://example.com/no',
  ]
  const begun = await vault.begin({ key, returnUrl, cancelUrl })
  if (begun.kind !== 'begun') return [`the vault did not begin: ${begun.kind}`]
  approve(begun.setupToken)
  const saved = await vault.save({ key: freshId(), setupToken: begun.setupToken })
  if (saved.kind !== 'saved') return [`the vault saved nothing: ${saved.kind}`]
  const gone = await vault.forget(saved.instrument)
  return gone.kind === 'forgotten' ? [] : [`the vault forgot nothing: ${gone.kind}`]
}

/** RFC 6749, section 4.4.2: it is in none of the documents. */
const TOKEN_PATH = '/v1/oauth2/token'

const paypalPath =
  (documents: PaypalDocuments | undefined) =>
  (request: Observed): string => {
    const [path = ''] = request.path.split('?')
    const judgement = documents?.judge(request)
    const known = documents?.operations.find(({ id }) => id === judgement?.operation)
    return known?.path ?? path.replaceAll(/\/[A-Z0-9][A-Z0-9-]{8,}(?=\/|$)/g, '/{id}')
  }

type Group = ReturnType<typeof grouped>[number]

const judgedBy =
  (documents: PaypalDocuments | undefined) =>
  ({ method, path, requests, places }: Group): Endpoint => {
    const base = { rail: 'paypal', method, path, places }
    const nothing = { refused: 0, taken: [] }
    if (path === TOKEN_PATH || documents === undefined) {
      const by =
        documents === undefined
          ? `documents absent: ${NO_DOCUMENTS}`
          : 'in no document: RFC 6749, 4.4.2'
      const operation = path === TOKEN_PATH ? 'token' : 'unnamed'
      return { ...base, operation, judged: 'not judged', by, why: [], controls: nothing }
    }
    const judgements = requests.map((request) => documents.judge(request))
    const operation = judgements[0]?.operation ?? 'unknown'
    const why = new Set(judgements.flatMap((each) => (each.kind === 'invalid' ? each.why : [])))
    const sound = requests.find((request) => documents.judge(request).kind === 'valid')
    const controls = controlsOf(operation)
    if (sound === undefined || controls === undefined) {
      const reasons = controls === undefined ? ['there are no controls for it'] : []
      const judged = 'invalid' as const
      return {
        ...base,
        operation,
        judged,
        by: 'PayPal’s documents',
        why: [...why, ...reasons],
        controls: nothing,
      }
    }
    const taken = controls.filter(({ change }) => documents.judge(change(sound)).kind === 'valid')
    return {
      ...base,
      operation,
      judged: why.size === 0 ? 'valid' : 'invalid',
      by: 'PayPal’s documents',
      why: [...why],
      controls: { refused: controls.length - taken.length, taken: taken.map(({ what }) => what) },
    }
  }
