/** Random honest trees, and what a party makes of one that holds its open tokens and every holder's key, but not the root's. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { fixedChild, fixedRoot, fixedToken } from '../../eval/attacks/forge/fixed.ts'
import { encodeBlock, OPERATIONS_OF } from '../../runtime/client/encode.ts'
import { type Envelope, type SignedBlock, writeEnvelope } from '../../runtime/client/envelope.ts'
import {
  type BlockClaims,
  NODE_KINDS,
  OPERATIONS,
  type RequestFacts,
} from '../../runtime/core/block.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { CURRENCIES, minor } from '../../runtime/core/money.ts'
import { later, seconds } from '../../runtime/core/time.ts'
import {
  envelopeOf,
  holderOf,
  keyOf,
  leafClaims,
  lookerClaims,
  MANDATE,
  NOW,
  plannerClaims,
  QUOTE,
  ROOT_ID,
  ROOT_KEY,
  rootClaims,
} from './fixtures.ts'

/**
 * What every property draws from unless it is told otherwise: one history, in which enough of each kind occurs. Another
 * number looks at others; a failure prints the seed and path that find it again, with the same bytes.
 */
export const SEED = 20_261_130

/** Another secret for every token, and the same in every run. */
const secretFor = (payload: Uint8Array, above?: Envelope): Uint8Array =>
  createHash('sha256')
    .update(above?.blocks.at(-1)?.signature ?? '')
    .update(payload)
    .digest()

function rootToken(claims: BlockClaims): string {
  const payload = encodeBlock(claims, 0)
  const block = { payload, signer: ROOT_KEY, nextSecret: secretFor(payload) }
  return fixedToken(fixedRoot(ROOT_ID, block), false).token
}

function appended(parent: Envelope, block: { payload: Uint8Array; by: number; sealed: boolean }) {
  const { payload, by, sealed } = block
  const nextSecret = secretFor(payload, parent)
  return fixedToken(fixedChild(parent, { payload, signer: keyOf(by), nextSecret }), sealed).token
}

const PAYEES = ['acme', 'globex', 'initech', 'umbrella']
const OUTSIDERS = ['aaa', 'zzz']

export interface Tree {
  /** From the root down; the last may be sealed. */
  readonly tokens: readonly string[]
  readonly chain: readonly BlockClaims[]
}

const step = fc.record({
  ceilingPercent: fc.integer({ min: 20, max: 100 }),
  sooner: fc.integer({ min: 0, max: 500 }),
  mask: fc.integer({ min: 1, max: 15 }),
})

const treePlan = fc.record({
  run: fc.constantFrom('run_one', 'run_two'),
  ceiling: fc.integer({ min: 1, max: 1_000_000 }),
  steps: fc.array(step, { maxLength: 8 }),
  last: fc.constantFrom(...NODE_KINDS),
})

/** Each block has a part of what the one above it has; only the last is a looker or a leaf. */
export const trees: fc.Arbitrary<Tree> = treePlan.map(({ run, ceiling, steps, last }) => {
  let above = rootClaims({ run, ceiling: minor(ceiling), payees: PAYEES })
  let token = rootToken(above)
  const [tokens, chain] = [[token], [above]]
  steps.forEach(({ ceilingPercent, sooner, mask }, i) => {
    const kind = i === steps.length - 1 ? last : 'planner'
    const left = above.payees.filter((_, at) => (mask >> at) & 1)
    const payees = left.length === 0 ? above.payees : left
    const narrowed = {
      ceiling: minor(Math.max(1, Math.floor((above.ceiling * ceilingPercent) / 100))),
      expiresAtSeconds: seconds(above.expiresAtSeconds - sooner),
      payees,
    }
    const n = i + 1
    if (kind === 'planner') above = plannerClaims(n, narrowed)
    else if (kind === 'leaf') above = leafClaims(n, { ...narrowed, payees: payees.slice(0, 1) })
    else above = lookerClaims(n, { ...narrowed, ceiling: minor(0) })
    const payload = encodeBlock(above, n)
    token = appended(envelopeOf(token), { payload, by: n, sealed: kind !== 'planner' })
    tokens.push(token)
    chain.push(above)
  })
  return { tokens, chain }
})

export const requests: fc.Arbitrary<RequestFacts> = fc
  .record({
    operation: fc.constantFrom(...OPERATIONS, 'pay' as const, 'pay' as const),
    amount: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 2_000_000 })),
    currency: fc.constantFrom('INR', 'INR', 'INR', 'USD'),
    payee: fc.constantFrom(...PAYEES, ...OUTSIDERS),
    quote: fc.constantFrom(QUOTE, QUOTE, sha256('another')),
    wait: fc.constantFrom(0, 0, 10, 3_500, 3_600, 3_601, 9_999),
  })
  .map(({ amount, wait, ...rest }) => ({
    ...rest,
    currency: rest.currency as RequestFacts['currency'],
    amount: minor(amount),
    nowSeconds: later(NOW, wait),
  }))

/** What a hostile block says instead of what an honest child of the same parent would. */
const twists: fc.Arbitrary<Partial<BlockClaims>> = fc.oneof(
  fc.constant({}),
  fc.integer({ min: 0, max: 2_000_000 }).map((ceiling) => ({ ceiling: minor(ceiling) })),
  fc.integer({ min: -4_000, max: 9_000 }).map((s) => ({ expiresAtSeconds: later(NOW, s + 4_000) })),
  fc.subarray([...OUTSIDERS, ...PAYEES].sort(), { minLength: 1 }).map((payees) => ({ payees })),
  fc.constantFrom(...CURRENCIES).map((currency) => ({ currency })),
  fc.constantFrom(...NODE_KINDS).map((kind) => ({ kind })),
  fc.integer({ min: 1, max: 12 }).map((n) => ({ holder: holderOf(n) })),
  fc.constantFrom({ mandate: MANDATE }, { run: 'run_x' }, { quote: QUOTE }, { node: 'nd_root' }),
)

const lengthPrefixed = (tag: number, text: string) =>
  Buffer.concat([Buffer.from([tag, text.length]), Buffer.from(text)])

/** Changes of a payload that no claims can express: a field twice, another order, unknown ones, another version. */
const payloadEdits: fc.Arbitrary<(payload: Buffer) => Uint8Array> = fc.oneof(
  { weight: 18, arbitrary: fc.constant((payload: Buffer) => payload) },
  fc
    .constantFrom(
      [0x3a, 0x02, 0x08, 0x01],
      [0x7a, 0x01, 0x00],
      [0x18, 0x05],
      [0x2a, 0x00],
      [0x42, 0x00],
    )
    .map((tail) => (payload: Buffer) => Buffer.concat([payload, Buffer.from(tail)])),
  fc.constant((payload: Buffer) => Buffer.concat([lengthPrefixed(0x12, 'a context'), payload])),
  fc.nat().map((n) => (payload: Buffer) => {
    const fields = fieldsOf(payload)
    const again = fields[n % fields.length] ?? Buffer.alloc(0)
    return Buffer.concat([payload, again])
  }),
  fc.tuple(fc.nat(), fc.nat()).map(([a, b]) => (payload: Buffer) => {
    const fields = fieldsOf(payload)
    const [i, j] = [a % fields.length, b % fields.length]
    return Buffer.concat(
      fields.map((field, at) => (at === i ? fields[j] : at === j ? fields[i] : field) ?? field),
    )
  }),
  fc.nat().map((n) => (payload: Buffer) => {
    const fields = fieldsOf(payload)
    return Buffer.concat(fields.filter((_, at) => at !== n % fields.length))
  }),
  fc.nat().map((n) => (payload: Buffer) => {
    const copy = Buffer.from(payload)
    const at = n % copy.length
    copy[at] = (copy[at] ?? 0) ^ (1 << (n % 8))
    return copy
  }),
)

/** The fields of one protobuf message, each as its bytes; the last holds whatever is not readable. */
export function fieldsOf(message: Uint8Array): Buffer[] {
  const bytes = Buffer.from(message)
  const fields: Buffer[] = []
  let at = 0
  const varint = () => {
    let [value, scale] = [0, 1]
    for (;;) {
      const byte = bytes[at++] ?? 0
      value += (byte & 127) * scale
      scale *= 128
      if (byte < 128) return value
    }
  }
  while (at < bytes.length) {
    const start = at
    const type = varint() % 8
    const length = varint()
    if (type === 2) at += length
    fields.push(bytes.subarray(start, at))
  }
  return fields
}

/** Otherwise nothing of what is drawn would ever be accepted. */
const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

const hostileBlock = fc.record({
  twists: fc.array(twists, { maxLength: 3 }),
  edit: payloadEdits,
  /** The rightful signer, or whose key else. */
  signer: rarely(fc.integer({ min: 1, max: 12 })),
  sealed: rarely(fc.boolean()),
})

const surgeries = rarely(
  fc.record({
    kind: fc.constantFrom(
      'drop',
      'double',
      'swap',
      'transplant',
      'proof',
      'root id',
      'cut',
      'signer',
    ),
    at: fc.nat(),
    from: fc.nat(),
  }),
)

export const attacks = fc.record({
  from: fc.nat(),
  blocks: fc.array(hostileBlock, { maxLength: 3 }),
  surgery: surgeries,
})
type Attack = typeof attacks extends fc.Arbitrary<infer T> ? T : never

/** What came out, or undefined where the party has nothing open to start from. */
export function carryOut({ from, blocks, surgery }: Attack, tree: Tree, other: Tree): string {
  let token = tree.tokens[from % tree.tokens.length] ?? ''
  for (const block of blocks) {
    const parent = envelopeOf(token)
    if ('finalSignature' in parent.proof) break
    const index = parent.blocks.length
    const claims = Object.assign({}, childOf(tree, index), ...block.twists)
    const isLeaf = claims.kind === 'leaf'
    const whole: BlockClaims = {
      ...claims,
      ...(isLeaf && !('payees' in Object.assign({}, ...block.twists))
        ? { payees: claims.payees.slice(0, 1) }
        : {}),
      ...(isLeaf ? { quote: QUOTE } : {}),
    }
    token = appended(parent, {
      payload: block.edit(encodeBlock(whole, index)),
      by: block.signer ?? index,
      sealed: block.sealed ?? whole.kind !== 'planner',
    })
  }
  return surgery === undefined ? token : operate(surgery, envelopeOf(token), other)
}

/** What an honest child at this place may say: as much as is left above it. */
function childOf({ chain }: Tree, index: number): BlockClaims {
  const above = chain[Math.min(index, chain.length) - 1] ?? rootClaims()
  const { ceiling, expiresAtSeconds, payees } = above
  return plannerClaims(index, { ceiling, expiresAtSeconds, payees })
}

function operate(
  { kind, at, from }: NonNullable<Attack['surgery']>,
  envelope: Envelope,
  other: Tree,
): string {
  const { blocks } = envelope
  const stolen = envelopeOf(other.tokens[from % other.tokens.length] ?? '')
  const i = at % blocks.length
  const j = from % blocks.length
  const lists: { readonly [kind: string]: () => (SignedBlock | undefined)[] } = {
    drop: () => (blocks.length === 1 ? [...blocks, ...blocks] : blocks.filter((_, n) => n !== i)),
    double: () => blocks.flatMap((block, n) => (n === i ? [block, block] : [block])),
    swap: () => blocks.map((block, n) => (n === i ? blocks[j] : n === j ? blocks[i] : block)),
    transplant: () =>
      blocks.map((block, n) => (n === i ? stolen.blocks[from % stolen.blocks.length] : block)),
    cut: () => blocks.slice(0, i + 1),
    signer: () =>
      blocks.map((block, n) => (n === i ? withSignerOf(block, stolen.blocks.at(-1)) : block)),
  }
  const list = lists[kind]?.().filter((block) => block !== undefined)
  const changed: Envelope = {
    ...envelope,
    ...(list && { blocks: list }),
    ...(kind === 'proof' && { proof: stolen.proof }),
    ...(kind === 'root id' && { rootKeyId: at % 9 }),
  }
  return writeEnvelope(changed).toString('base64url')
}

const withSignerOf = (block: SignedBlock, other: SignedBlock | undefined): SignedBlock =>
  other?.external ? { ...block, external: other.external } : block

/** Whether the last of a chain has no more than any above it: said here once more, and otherwise than the product says it. */
export function isNarrower(chain: readonly BlockClaims[]): boolean {
  const last = chain.at(-1)
  if (last === undefined) return false
  const above = chain.slice(0, -1)
  return (
    last.ceiling <= Math.min(...above.map(({ ceiling }) => ceiling), Number.MAX_SAFE_INTEGER) &&
    last.expiresAtSeconds <=
      Math.min(...above.map((b) => b.expiresAtSeconds), Number.MAX_SAFE_INTEGER) &&
    new Set(chain.map(({ currency }) => currency)).size === 1 &&
    last.payees.every((payee) => above.every(({ payees }) => payees.includes(payee))) &&
    above.every(({ kind }) => kind === 'planner') &&
    (last.kind !== 'looker' || last.ceiling === 0) &&
    (last.kind !== 'leaf' || (last.payees.length === 1 && last.quote !== undefined))
  )
}

/** Whether a request stays within every block of a chain. */
export const isWithin = (request: RequestFacts, chain: readonly BlockClaims[]): boolean =>
  chain.every(
    (block) =>
      request.amount <= block.ceiling &&
      request.nowSeconds <= block.expiresAtSeconds &&
      request.currency === block.currency &&
      block.payees.includes(request.payee) &&
      OPERATIONS_OF[block.kind].includes(request.operation) &&
      (block.quote === undefined || block.quote === request.quote) &&
      (block.kind !== 'leaf' || request.amount >= 1),
  )
