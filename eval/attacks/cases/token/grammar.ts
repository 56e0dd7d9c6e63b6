/** Attacks by what a block says: Datalog of the holder's own where only the closed grammar may stand. */
import { anyPublicKey, compile } from '../../forge/datalog.ts'
import { append, newKey } from '../../forge/tokens.ts'
import type { AttackCase } from '../../types.ts'
import type { Bench } from '../../world/bench.ts'

/** An honest planner turns bad: it appends `source` to its own open token and pays with it. */
async function payWith(bench: Bench, source: string) {
  const root = await bench.run()
  const quote = bench.quote()
  const payload = await compile(source)
  const { token } = append(root.token, { holder: root.holder, payload })
  return bench.seen(await bench.pay({ token, holder: newKey() }, quote))
}

const GRAMMAR = { status: 401, code: 'grammar' } as const

interface Program {
  readonly id: string
  readonly goal: string
  readonly method: string
  readonly source: string | (() => string)
}

const BOMB = Array.from({ length: 40 }, (_, i) => `d(${i})`).join('; ')

const PROGRAMS: readonly Program[] = [
  {
    id: 'T05',
    goal: 'Widen the ceiling from below',
    method: 'A later block adds a second, far larger ceiling fact',
    source: 'ceiling("INR", 9000000000); node("nd_x"); kind("leaf")',
  },
  {
    id: 'T06',
    goal: 'Derive the right to pay',
    method: 'A later block adds a rule over facts that it brings itself',
    source: 'mine(true); right("pay") <- mine(true)',
  },
  {
    id: 'T07',
    goal: 'Have an honest check find a dishonest block’s fact',
    method: 'A check that trusts earlier blocks, which stock Biscuit allows',
    source: 'check if approved(true) trusting previous',
  },
  {
    id: 'T08',
    goal: 'Make an expiry check find an old date',
    method: 'A later block asserts a time of its own',
    source: 'time(2020-01-01T00:00:00Z)',
  },
  {
    id: 'T08b',
    goal: 'Satisfy the check on the amount from inside the token',
    method: 'A later block asserts the request’s own facts',
    source: 'req_amount(1); req_operation("pay"); req_currency("INR")',
  },
  {
    id: 'T14',
    goal: 'Keep the engine busy with facts that multiply',
    method: 'A cross join of forty facts with itself, four times over',
    source: `${BOMB}; e($a, $b, $c, $d) <- d($a), d($b), d($c), d($d)`,
  },
  {
    id: 'T15',
    goal: 'Keep the engine busy with a regular expression',
    method: 'A `matches` check over a text made for backtracking',
    source: `check if "${'a'.repeat(500)}!".matches("^(a+)+$")`,
  },
  {
    id: 'T23',
    goal: 'Shift the table of public keys so that a scope means another key',
    method: 'A third-party block that brings a key and a scope over it',
    source: () => `check if approved("human") trusting ${anyPublicKey()}`,
  },
  {
    id: 'T36',
    goal: 'Turn an evaluation error into an allow',
    method: 'A sum inside a check that leaves 64 bits',
    source: 'check if 9223372036854775807 + 1 > 0',
  },
]

export const GRAMMAR_CASES: readonly AttackCase[] = PROGRAMS.map(
  ({ id, goal, method, source }): AttackCase => ({
    id,
    layer: 'token',
    goal,
    method,
    expected: GRAMMAR,
    run: (bench) => payWith(bench, typeof source === 'string' ? source : source()),
  }),
)
