/** Logs that were made up, each hash as it should be: what the events say is all that is wrong with them. */
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { type AuditVerdict, verifyExport } from '../../runtime/audit/verify.ts'
import { GATEWAY_ANCHOR } from '../../runtime/core/events.ts'
import { sha256 } from '../../runtime/core/ids.ts'
import { type Body, bodyOf, forge, type Written, writtenLog } from './log.ts'

let log: Written
beforeAll(async () => {
  log = await writtenLog()
})

/** Values that an object of JavaScript has an answer for, or that convert into something else, or into nothing. */
const ODD: readonly unknown[] = [
  { toString: 1, valueOf: 1 },
  { length: 1 },
  [],
  [[1]],
  null,
  true,
  '',
  '1',
  'never',
  -1,
  Number.MAX_SAFE_INTEGER,
  'constructor',
  'toString',
  'hasOwnProperty',
  '__proto__',
]

/** Everything in a body that can be set, as the object that has it and its name. */
function places(body: Body): [{ [key: string]: unknown }, string][] {
  const { data, balances } = body
  const of = (owner: { [key: string]: unknown }) =>
    Object.keys(owner).map((key): [{ [key: string]: unknown }, string] => [owner, key])
  return [...of(body), ...of(data), ...of(balances ?? {})]
}

describe('a log that somebody made up', () => {
  it('is a verdict and no exception, whatever value stands in any place of it', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.constantFrom(...ODD), (row, place, odd) => {
        let at = row % log.ofRun.length
        const forged = forge(
          log.ofRun,
          (body) => {
            const all = places(body)
            const [owner, key] = all[place % all.length] ?? [body, 'v']
            owner[key] = odd
          },
          () => at-- === 0,
        )
        expect(() => verifyExport(forged, log.options)).not.toThrow()
      }),
      { numRuns: 150 },
    )
  })

  it.each(['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__'])(
    'has no event of the type %s',
    (type) => {
      const retyped = (body: Body) => void Object.assign(body, { type })
      const forged = forge(log.ofRun, retyped, ({ type: of }) => of === 'refused')
      expect(verifyExport(forged).broken?.why).toBe('not a type of event')
    },
  )

  it.each([
    ['expires', 'never'],
    ['expires', { valueOf: 1 }],
    ['kind', 'teller'],
    ['payees', ['shop', 'other']],
    ['quote', 7],
  ])('has no leaf whose %s is %j', (key, value) => {
    const change = (body: Body) => void Object.assign(body.data, { [key]: value })
    const isLeaf = (body: Body) => body.type === 'opened' && body.stream === log.leaf.id
    expect(verifyExport(forge(log.ofRun, change, isLeaf)).broken?.stream).toBe(log.leaf.id)
  })

  it('judges a payment by standings that are numbers, not by what turns into one', () => {
    const change = ({ data }: Body) => {
      data.standings = (data.standings as number[]).map(String)
    }
    const forged = forge(log.ofRun, change, ({ type }) => type === 'reserved')
    expect(verifyExport(forged).broken?.why).toMatch(/^reserved while /)
  })
})

describe('the gateway’s stream', () => {
  /** The log with more events at the end of the gateway's stream. */
  function withMore(...events: Pick<Body, 'type' | 'data'>[]): AuditVerdict {
    const own = log.lines.filter((line) => bodyOf(line).stream === 'gateway')
    const last = bodyOf(own.at(-1) ?? '')
    const more = events.map((event, i) => {
      const body = { ...last, run: log.run.id, ...event, seq: last.seq + 1 + i }
      return JSON.stringify({ hash: '', body: JSON.stringify(body) })
    })
    const chained: string[] = []
    let prev: string = GATEWAY_ANCHOR
    for (const line of [...own, ...more]) {
      const [next = ''] = forge(
        [line],
        (body) => void Object.assign(body, { prev }),
        () => true,
      )
      prev = JSON.parse(next).hash
      chained.push(next)
    }
    return verifyExport([
      ...chained,
      ...log.lines.filter((line) => bodyOf(line).stream !== 'gateway'),
    ])
  }

  const told = (type: string): Body['data'] =>
    bodyOf(log.lines.find((line) => bodyOf(line).type === type) ?? '').data

  it('says once how a run began and how it ended, so that no later word hides the first', () => {
    expect(withMore().ok).toBe(true)
    const created = { type: 'run_created', data: told('run_created') }
    expect(withMore(created).broken?.why).toBe('run_created twice')
    expect(withMore({ type: 'sealed', data: told('sealed') }).broken?.why).toBe('sealed twice')
  })

  it('creates no run whose root is another run’s', () => {
    const created = { type: 'run_created', data: told('run_created'), run: 'run_other' }
    expect(withMore(created).broken?.why).toBe('the stream of this root is missing')
  })

  it('seals no run whose root has not ended', () => {
    const { root } = log
    const first = log.lines.find(
      (line) => bodyOf(line).stream === root.id && bodyOf(line).seq === 1,
    )
    const early = forge(
      log.lines,
      ({ data }) => void Object.assign(data, { seq: 1, hash: JSON.parse(first ?? '').hash }),
      ({ type }) => type === 'sealed',
    )
    expect(verifyExport(early).broken?.why).toBe('sealed before its root had ended')
  })
})

describe('money that a made-up log counts twice', () => {
  it('finds a second root of a run', () => {
    const others = log.lines.filter((line) => {
      const { run, stream } = bodyOf(line)
      return run !== log.run.id && stream !== 'gateway'
    })
    const adopted = others.map((line) => bodyOf(line))
    for (const body of adopted) body.run = log.run.id
    const chained = forge(
      adopted.map((body) => JSON.stringify({ hash: '', body: JSON.stringify(body) })),
      () => {},
      () => true,
    )
    expect(verifyExport([...log.ofRun, ...chained]).ok).toBe(false)
  })

  it('finds a quote that two leaves paid', () => {
    const isPaid = ({ stream, type }: Body) => stream === log.leaf.id && type === 'settled'
    const paid = log.ofRun.map(bodyOf).find(isPaid)
    expect(paid).toBeDefined()
    const quote = sha256('one quote')
    const one = twoLeaves('a', sha256('another'))
    const both = twoLeaves(quote, quote)
    expect(verifyExport(one, { run: 'run_made' })).toMatchObject({ ok: true })
    expect(verifyExport(both, { run: 'run_made' }).broken?.why).toBe(
      'pays a quote that another leaf pays',
    )
  })

  it('finds a second payment by one leaf', () => {
    const twice = twoLeaves('a', 'b').filter((line) => bodyOf(line).stream !== 'nd_b')
    const more = [...twice, next(twice, 'nd_a', 'reserved', { ...paying('a'), payment: 'pay_2' })]
    expect(verifyExport(more).broken?.why).toMatch(/a second payment of a leaf/)
  })
})

const paying = (quote: string) => ({ amount: 5, payee: 'shop', quote, standings: [1, 1, 1] })

const BALANCES = { ceiling: 0, available: 0, reserved: 0, spent: 0, allotted: 0 }

/** A line that follows the last of its stream, stating these balances. */
function next(
  lines: readonly string[],
  stream: string,
  type: string,
  data: object,
  rest: { prev?: string; balances?: Partial<typeof BALANCES> } = {},
): string {
  const own = lines.filter((line) => bodyOf(line).stream === stream)
  const { prev = JSON.parse(own.at(-1) ?? '{}').hash, balances = {} } = rest
  const body = {
    ...{ v: 1, org: 'acme', run: 'run_made', stream, seq: own.length + 1, prev, at: 1, type, data },
    balances: { ...BALANCES, ...balances },
  }
  const [line = ''] = forge(
    [JSON.stringify({ hash: '', body: JSON.stringify(body) })],
    () => {},
    () => true,
  )
  return line
}

/** A root and two leaves, each of which has set 5 of its 10 aside for its quote. */
function twoLeaves(...quotes: [string, string]): string[] {
  const shared = { currency: 'INR', nodes: 0, expires: 9, payees: ['shop'] }
  const lines: string[] = []
  const add = (...given: [string, string, object, Parameters<typeof next>[4]?]) => {
    const line = next(lines, ...given)
    lines.push(line)
    return JSON.parse(line).hash as string
  }
  add(
    'nd_root',
    'opened',
    { ...shared, kind: 'planner', ceiling: 20, nodes: 2 },
    { prev: sha256('mandate'), balances: { ceiling: 20, available: 20 } },
  )
  for (const [i, name] of ['a', 'b'].entries()) {
    const quote = quotes[i] ?? ''
    const node = `nd_${name}`
    const available = 10 - 10 * i
    const balances = { ceiling: 20, available, allotted: 20 - available }
    const prev = add('nd_root', 'split', { child: node, amount: 10, nodes: 0 }, { balances })
    const opened = { ...shared, parent: 'nd_root', kind: 'leaf', ceiling: 10, quote }
    add(node, 'opened', opened, { prev, balances: { ceiling: 10, available: 10 } })
    const reserved = { ceiling: 10, available: 5, reserved: 5 }
    add(node, 'reserved', { ...paying(quote), payment: `pay_${name}` }, { balances: reserved })
  }
  return lines
}
