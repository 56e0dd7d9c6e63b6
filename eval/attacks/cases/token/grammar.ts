/**
 * Attacks by what a block says: the block is the honest one of a leaf in everything but one, so that whatever refuses
 * it refuses that. Each is brought twice: for registration, as the parent that signed it, and to pay with.
 */
import { sha256 } from '../../../../runtime/core/ids.ts'
import {
  anyPublicKey,
  blockText,
  compile,
  withDatalogVersion,
  withScope,
  withSymbols,
} from '../../forge/datalog.ts'
import { append } from '../../forge/tokens.ts'
import type { AttackCase } from '../../types.ts'
import type { Bench, Held } from '../../world/bench.ts'

interface Forgery {
  readonly id: string
  readonly goal: string
  readonly method: string
  /** What the leaf would pay; its block says 1,000. */
  readonly amount?: number
  /** Said in a planner’s block between root and leaf; without it the leaf stands right below the root. */
  readonly planner?: (honest: string) => string
  readonly leaf?: (honest: string) => string
  /** Changes that no Datalog text can express. */
  readonly bytes?: (payload: Uint8Array) => Uint8Array
}

const adding = (source: string) => (honest: string) => `${honest}; ${source}`

/** The honest child with another text in its block, signed by its rightful parent. */
async function forged(
  parent: Held,
  honest: Held,
  forge: (text: string) => Promise<Uint8Array>,
): Promise<Held> {
  const payload = await forge(blockText(honest.claims))
  const sealed = honest.claims.kind !== 'planner'
  const { token } = append(parent.token, { holder: parent.holder, payload, sealed })
  return { ...honest, token }
}

async function tryForgery(bench: Bench, { amount, planner, leaf, bytes }: Forgery) {
  const root = await bench.run()
  let parent = root
  if (planner) {
    const honest = bench.mint(root, { ceiling: 50_000 })
    parent = await forged(root, honest, (text) => compile(planner(text)))
    bench.must(await bench.register(root, parent.token, 5), 403, 'grammar')
  }
  const quote = bench.quote(amount === undefined ? {} : { amount })
  const honest = bench.mint(parent, bench.leafClaims(quote))
  const spender = await forged(parent, honest, async (text) => {
    const payload = await compile(leaf ? leaf(text) : text)
    return bytes ? bytes(payload) : payload
  })
  if (!planner) bench.must(await bench.register(root, spender.token), 403, 'grammar')
  return bench.seen(await bench.pay(spender, quote))
}

const BOMB = Array.from({ length: 40 }, (_, i) => `d(${i})`).join('; ')

const SECOND = `quote(hex:${Buffer.from(sha256('another'), 'base64url').toString('hex')})`

/** As a name it prints like the checks that are missing, and one that is always true. */
const CHECKS_AS_NAME =
  'value), {"pay"}.contains($value); check all req_amount($value), $value >= 1, $value <= 1000; check all req_operation($x'

const FORGERIES: readonly Forgery[] = [
  {
    id: 'T05',
    goal: 'Widen the ceiling from below',
    method: 'A leaf adds a second, far larger ceiling fact and pays more than the first',
    amount: 50_000,
    leaf: adding('ceiling("INR", 9000000000)'),
  },
  {
    id: 'T06',
    goal: 'Derive the right to pay',
    method: 'A leaf adds a rule over facts that it brings itself',
    leaf: adding('mine(true); right("pay") <- mine(true)'),
  },
  {
    id: 'T07',
    goal: 'Have an honest check find a dishonest block’s fact',
    method: 'A leaf’s check trusts earlier blocks, which stock Biscuit allows, and one lies to it',
    planner: adding('approved("human")'),
    leaf: adding('check if approved("human") trusting previous'),
  },
  {
    id: 'T07b',
    goal: 'Have one check believe more than it says',
    method: 'The check on the amount trusts earlier blocks; nothing else is added',
    leaf: (honest) => honest.replace('$value <= 1000', '$value <= 1000 trusting previous'),
  },
  {
    id: 'T08',
    goal: 'Make an expiry check find an old date',
    method: 'A leaf asserts a time of its own',
    leaf: adding('time(2020-01-01T00:00:00Z)'),
  },
  {
    id: 'T08b',
    goal: 'Satisfy the check on the amount from inside the token',
    method: 'A leaf asserts the request’s own facts, and a check asks for any of them only',
    amount: 50_000,
    leaf: (honest) =>
      `${honest.replace('check all req_amount', 'check if req_amount')}; req_amount(1)`,
  },
  {
    id: 'T10a',
    goal: 'Have one leaf serve two payments',
    method: 'A leaf states two quotes, and its check asks for either',
    leaf: (honest) => `${honest.replace('check all req_quote', 'check if req_quote')}; ${SECOND}`,
  },
  {
    id: 'T12b',
    goal: 'Fall back to an older language that has no `check all`',
    method: 'The leaf’s block claims to be Datalog 3, as the first tokens were',
    bytes: (payload) => withDatalogVersion(payload, 3),
  },
  {
    id: 'T14',
    goal: 'Keep the engine busy with facts that multiply',
    method: 'A cross join of forty facts with itself, four times over',
    leaf: adding(`${BOMB}; e($a, $b, $c, $d) <- d($a), d($b), d($c), d($d)`),
  },
  {
    id: 'T15',
    goal: 'Keep the engine busy with a regular expression',
    method: 'A `matches` check over a text made for backtracking',
    leaf: adding(`check if "${'a'.repeat(500)}!".matches("^(a+)+$")`),
  },
  {
    id: 'T20c',
    goal: 'Have the verifier fetch a key of the attacker’s',
    method: 'A block that names a URL for its root key',
    leaf: adding('root_key("http://127.0.0.1:9/keys")'),
  },
  {
    id: 'T23',
    goal: 'Shift the table of public keys so that a scope means another key',
    method: 'A planner brings a key that takes the place of the one its leaf’s scope names',
    planner: (honest) => `${honest}; check if true trusting ${anyPublicKey()}`,
    leaf: (honest) => `${honest}; check if approved("human") trusting ${anyPublicKey()}`,
  },
  {
    id: 'T32b',
    goal: 'Be of two runs at once',
    method: 'A leaf states a run of its own beside its root’s',
    leaf: adding('run("run_other")'),
  },
  {
    id: 'T36',
    goal: 'Turn an evaluation error into an allow',
    method: 'A sum inside a check that leaves 64 bits',
    leaf: adding('check if 9223372036854775807 + 1 > 0'),
  },
  {
    id: 'T45',
    goal: 'Print like an honest leaf without its checks',
    method: 'One check whose variable’s name holds the text of the two that are missing',
    amount: 50_000,
    leaf: (honest) =>
      honest
        .replace(/check all req_amount[^;]*; /, '')
        .replace('req_operation($value)', 'req_operation($hidden)')
        .replace('.contains($value)', '.contains($hidden)'),
    bytes: (payload) =>
      withSymbols(payload, (symbol) => (symbol === 'hidden' ? CHECKS_AS_NAME : symbol)),
  },
  {
    id: 'T46',
    goal: 'Have a whole block believe the blocks above it, unseen',
    method: 'The scope of the block, which is never printed, is `trusting previous`',
    bytes: withScope,
  },
  {
    id: 'T47',
    goal: 'Carry a message past the grammar, unseen',
    method: 'The block’s context, which is never printed, holds a text',
    bytes: (payload) => withSymbols(payload, (symbol) => symbol, 'approved by a person'),
  },
]

export const GRAMMAR_CASES: readonly AttackCase[] = FORGERIES.map(
  (forgery): AttackCase => ({
    id: forgery.id,
    goal: forgery.goal,
    method: forgery.method,
    expected: { status: 401, code: 'grammar' },
    run: (bench) => tryForgery(bench, forgery),
  }),
)
