/** Attacks by who presents a token, when, and for what: theft, replay, revocation, the wrong kind of node. */
import { createServer } from 'node:net'
import { rawPublicKey } from '../../../../runtime/core/keys.ts'
import { signRaw } from '../../forge/jws.ts'
import { newKey } from '../../forge/tokens.ts'
import type { AttackCase } from '../../types.ts'
import type { Bench, Call, ProofChanges } from '../../world/bench.ts'

const PAY: Call = { path: '/payments' }

/** An honest leaf with a proof that is wrong in one way. */
async function payWithProof(bench: Bench, changes: ProofChanges, on: Call = PAY) {
  const { quote, leaf } = await bench.purchase()
  const proof = bench.proof(leaf, on, changes)
  return bench.seen(await bench.pay(leaf, quote, { headers: [['DPoP', proof]] }))
}

const PROOF = { status: 401, code: 'proof_invalid' } as const

/** Wrong if anything connected to a port of ours, whose URL `act` is given, before it had its answer. */
async function withoutFetching<T>(bench: Bench, act: (url: string) => Promise<T>): Promise<T> {
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  try {
    const seen = await act(`http://127.0.0.1:${port}/keys`)
    bench.claim(connections === 0, 'expected no connection to the URL that was named')
    return seen
  } finally {
    server.close()
  }
}

export const HOLDER_CASES: readonly AttackCase[] = [
  {
    id: 'T16',
    goal: 'Pay with a token that has just expired',
    method: 'The leaf expired one second ago; mandate and quote are still good',
    expected: { status: 403, code: 'expired', verdict: 'deny' },
    world: 'late',
    run: async (bench) => {
      const root = await bench.run()
      const quote = bench.quote()
      const ends = (bench.now() + 30) as typeof root.claims.expiresAtSeconds
      const leaf = await bench.child(root, {
        ...bench.leafClaims(quote),
        expiresAtSeconds: ends,
      })
      bench.world.pushClock(31_000)
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'T17',
    goal: 'Bring expired authority back to life',
    method: 'The gateway’s clock is set back ten minutes',
    expected: { status: 503, code: 'unavailable' },
    world: 'late',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const proof = bench.proof(leaf, PAY)
      bench.world.pushClock(-600_000)
      try {
        const logged = bench.world.log.length
        const answer = await bench.pay(leaf, quote, { headers: [['DPoP', proof]] })
        const isTold = bench.world.log
          .slice(logged)
          .some((line) => line.includes('clock_untrusted'))
        bench.claim(isTold, 'expected the operator to be told of the clock')
        return bench.seen(answer)
      } finally {
        bench.world.pushClock(600_000)
      }
    },
  },
  {
    id: 'T17b',
    goal: 'Keep authority for later, past what was signed for',
    method: 'A mandate dated an hour ahead',
    expected: { status: 400, code: 'mandate_rejected' },
    run: async (bench) => {
      const mandate = bench.mandate({ iat: bench.now() + 3_600, exp: bench.now() + 7_200 })
      return bench.seen(await bench.plain({ path: '/runs', body: { mandate } }))
    },
  },
  {
    id: 'T20',
    goal: 'Have the verifier fetch a key of the attacker’s',
    method: 'A proof, well signed by that key, whose header names a URL for it, beside it or alone',
    expected: PROOF,
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      return withoutFetching(bench, async (url) => {
        const key = newKey()
        const jwk = { kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(key) }
        const [, claims = ''] = bench.proof(leaf, PAY).split('.')
        const payload = Buffer.from(claims, 'base64url').toString()
        const payWith = (more: object) => {
          const header = { alg: 'EdDSA', typ: 'dpop+jwt', jku: url, x5u: url, ...more }
          const proof = signRaw({ key, header, payload })
          return bench.pay(leaf, quote, { headers: [['DPoP', proof]] })
        }
        bench.must(await payWith({ jwk }), 401, 'proof_invalid')
        return bench.seen(await payWith({ kid: url }))
      })
    },
  },
  {
    id: 'T20b',
    goal: 'Have the verifier fetch a shop’s key from the attacker',
    method: 'A quote in a shop’s name, signed by a key that its header names a URL for',
    expected: { status: 403, code: 'quote_invalid', verdict: 'deny' },
    run: async (bench) =>
      withoutFetching(bench, async (url) => {
        const key = newKey()
        const payload = Buffer.from(bench.quote().split('.')[1] ?? '', 'base64url').toString()
        const header = { alg: 'EdDSA', typ: 'quote+jwt', jku: url, x5u: url }
        const quote = signRaw({ key, header, payload })
        const leaf = await bench.leaf(await bench.run(), quote)
        return bench.seen(await bench.pay(leaf, quote))
      }),
  },
  {
    id: 'T24',
    goal: 'Use a one-shot leaf for a second payment',
    method: 'After paying its own quote the leaf presents another of the same shop and amount',
    expected: { status: 403, code: 'capability', verdict: 'deny' },
    guards: 'capability',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      bench.must(await bench.pay(leaf, quote), 200)
      return bench.seen(await bench.pay(leaf, bench.quote()), [bench.move()])
    },
  },
  {
    id: 'T25',
    goal: 'Spend a token that was found in a log',
    method: 'The whole token, with a proof by the thief’s own key',
    expected: PROOF,
    run: (bench) => payWithProof(bench, { key: newKey() }),
  },
  {
    id: 'T25b',
    goal: 'Use an old proof',
    method: 'A proof signed two minutes ago',
    expected: PROOF,
    run: (bench) => payWithProof(bench, { claims: { iat: bench.now() - 120 } }),
  },
  {
    id: 'T25c',
    goal: 'Use a proof that was made for something else',
    method: 'The holder’s proof over another route',
    expected: PROOF,
    run: (bench) => payWithProof(bench, {}, { path: '/search' }),
  },
  {
    id: 'T25d',
    goal: 'Use a proof that was made for another token of the same holder',
    method: 'The proof’s token hash is another’s',
    expected: PROOF,
    run: (bench) => payWithProof(bench, { claims: { ath: 'A'.repeat(43) } }),
  },
  {
    id: 'T25e',
    goal: 'Keep a proof for later',
    method: 'A proof dated two minutes ahead',
    expected: PROOF,
    run: (bench) => payWithProof(bench, { claims: { iat: bench.now() + 120 } }),
  },
  {
    id: 'T25f',
    goal: 'Use another holder’s good proof',
    method: 'Two leaves of one planner: the token of one, the proof of the other',
    expected: PROOF,
    run: async (bench) => {
      const { root, quote, leaf } = await bench.purchase()
      const sibling = await bench.leaf(root, bench.quote())
      const proof = bench.proof({ token: leaf.token, holder: sibling.holder }, PAY)
      return bench.seen(await bench.pay(leaf, quote, { headers: [['DPoP', proof]] }))
    },
  },
  {
    id: 'T10b',
    goal: 'Have a proof read in two ways',
    method: 'A holder’s proof that states its address twice, and one that states an amount',
    expected: PROOF,
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const [, claims = ''] = bench.proof(leaf, PAY).split('.')
      const text = Buffer.from(claims, 'base64url').toString()
      const jwk = { kty: 'OKP', crv: 'Ed25519', x: rawPublicKey(leaf.holder) }
      const twice = signRaw({
        key: leaf.holder,
        header: { alg: 'EdDSA', typ: 'dpop+jwt', jwk },
        payload: text.replace('{', `{"htu":"${bench.world.url}/search",`),
      })
      bench.must(await bench.pay(leaf, quote, { headers: [['DPoP', twice]] }), 401, 'proof_invalid')
      return payWithProof(bench, { claims: { amount: 1 } })
    },
  },
  {
    id: 'T26',
    goal: 'Use a captured proof for another body',
    method: 'The proof of a payment that went through, sent again with another quote',
    expected: { status: 401, code: 'proof_replayed' },
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const headers = [['DPoP', bench.proof(leaf, PAY)]] as const
      bench.must(await bench.pay(leaf, quote, { headers }), 200)
      return bench.seen(await bench.pay(leaf, bench.quote(), { headers }), [bench.move()])
    },
  },
  {
    id: 'T26b',
    goal: 'Learn the answer to somebody else’s payment',
    method: 'The same request again, byte for byte',
    expected: { status: 401, code: 'proof_replayed' },
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const headers = [['DPoP', bench.proof(leaf, PAY)]] as const
      bench.must(await bench.pay(leaf, quote, { headers }), 200)
      return bench.seen(await bench.pay(leaf, quote, { headers }), [bench.move()])
    },
  },
  {
    id: 'T27',
    goal: 'Pay although somebody above was revoked',
    method: 'The planner in the middle was revoked an hour ago; the leaf itself is untouched',
    expected: { status: 403, code: 'revoked', verdict: 'deny' },
    world: 'late',
    guards: 'standing',
    run: async (bench) => {
      const exp = bench.now() + 3 * 3_600
      const root = await bench.run({ exp })
      const middle = await bench.child(root, { ceiling: 50_000 })
      const { quote, leaf } = await bench.purchaseIn(middle, { claims: { exp } })
      const path = `/runs/${root.run}/nodes/${middle.claims.node}/revoke`
      bench.must(await bench.operator(path, { method: 'POST' }), 200)
      bench.world.pushClock(3_600_000)
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'T32',
    goal: 'Use one run’s token in another run',
    method: 'A planner of run A reads run B, closes its root, and registers a child there',
    expected: { status: 404, code: 'not_found' },
    run: async (bench) => {
      const a = await bench.run()
      const b = await bench.run()
      const child = bench.mint(a)
      bench.must(await bench.call(a, { method: 'GET', path: `/runs/${b.run}` }), 404)
      const close = { path: `/runs/${b.run}/nodes/${b.claims.node}/close`, body: {} }
      bench.must(await bench.call(a, close), 404)
      return bench.seen(
        await bench.call(a, { path: `/runs/${b.run}/nodes`, body: { token: child.token } }),
      )
    },
  },
  {
    id: 'T33',
    goal: 'Pay with a token that may only search',
    method: 'A looker posts a payment',
    expected: { status: 403, code: 'not_a_leaf', verdict: 'deny' },
    guards: 'capability',
    run: async (bench) => {
      const root = await bench.run()
      const looker = await bench.child(root, { kind: 'looker', ceiling: 0 })
      return bench.seen(await bench.pay(looker, bench.quote()))
    },
  },
  {
    id: 'T33b',
    goal: 'Pay with a token that may only split',
    method: 'A planner with money enough posts a payment',
    expected: { status: 403, code: 'not_a_leaf', verdict: 'deny' },
    run: async (bench) => {
      const root = await bench.run()
      const planner = await bench.child(root, { ceiling: 50_000 })
      return bench.seen(await bench.pay(planner, bench.quote()))
    },
  },
  {
    id: 'T34',
    goal: 'Have two parts of the server read two different tokens',
    method: 'Another token in the body or a header of another name; then two proofs, two tokens',
    expected: { status: 401, code: 'ambiguous' },
    guards: 'shape',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const named = { headers: [['X-Access-Token', leaf.token]] } as const
      bench.must(await bench.pay(leaf, quote, named), 401, 'ambiguous')
      const inBody = { body: { quote, token: leaf.token } }
      bench.must(await bench.pay(leaf, quote, inBody), 401, 'malformed')
      const proof = () => ['DPoP', bench.proof(leaf, PAY)] as const
      const proofs = { headers: [proof(), proof()] }
      bench.must(await bench.pay(leaf, quote, proofs), 401, 'ambiguous')
      const token = ['Authorization', `DPoP ${leaf.token}`] as const
      return bench.seen(await bench.pay(leaf, quote, { headers: [token, token] }))
    },
  },
  {
    id: 'T35',
    goal: 'Be let in without a token',
    method: 'No Authorization header, an empty one, another scheme, and a token that is empty',
    expected: { status: 401, code: 'malformed' },
    guards: 'shape',
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const proof = () => ['DPoP', bench.proof(leaf, PAY)] as const
      const body = { quote }
      for (const value of ['', 'DPoP ', `Bearer ${leaf.token}`]) {
        const headers = [['Authorization', value], proof()] as const
        bench.must(await bench.plain({ ...PAY, body, headers }), 401, 'malformed')
      }
      return bench.seen(await bench.plain({ ...PAY, body, headers: [proof()] }))
    },
  },
]
