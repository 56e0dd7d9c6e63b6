/** Attacks on the chain itself: other keys, missing, moved, repeated or extra blocks, other bytes. */
import { type KeyObject, randomBytes } from 'node:crypto'
import type { TokenKey } from '../../../../runtime/client/envelope.ts'
import { Writer } from '../../../../runtime/client/protobuf.ts'
import { signFirstBlock } from '../../../../runtime/client/sign.ts'
import type { BlockClaims } from '../../../../runtime/core/block.ts'
import { rawPublicKey } from '../../../../runtime/core/keys.ts'
import { LIMITS } from '../../../../runtime/core/limits.ts'
import { appendFirstParty, blockText, compile } from '../../forge/datalog.ts'
import {
  append,
  appendClaims,
  envelopeOf,
  forgeRoot,
  newKey,
  tokenOf,
  withBlocks,
  withRootKeyId,
  withTail,
} from '../../forge/tokens.ts'
import type { AttackCase } from '../../types.ts'
import type { Bench, Held } from '../../world/bench.ts'
import type { World } from '../../world/world.ts'

/** Long enough for what is done within it. */
const GRACE_SECONDS = 120

const REFUSED = { status: 401, code: 'token_invalid' } as const

/** A leaf three levels down, with everything that its holder saw on the way. */
async function deepLeaf(bench: Bench) {
  const root = await bench.run()
  const middle = await bench.child(root, { ceiling: 50_000 })
  const low = await bench.child(middle, { ceiling: 20_000, payees: [bench.shop.id] }, 5)
  const quote = bench.quote()
  return { root, middle, low, quote, leaf: await bench.leaf(low, quote) }
}

/** The leaf’s own holder pays with what was made of its token. */
async function payAs(
  bench: Bench,
  { leaf, quote }: { leaf: Held; quote: string },
  forge: (token: string) => string,
) {
  return bench.seen(await bench.pay({ token: forge(leaf.token), holder: leaf.holder }, quote))
}

/** The honest chain's claims, minted again from the root down: every holder is another, and the root key is given. */
function remint(bench: Bench, claims: readonly BlockClaims[], rootKey: World['root']): Held {
  const [root, ...rest] = claims
  if (root === undefined) throw new Error('expected a chain')
  let holder = newKey()
  const first = { ...root, holder: rawPublicKey(holder) }
  let { token } = forgeRoot(rootKey.key, rootKey.id, first)
  let last: BlockClaims = first
  for (const next of rest) {
    const key = newKey()
    last = { ...next, holder: rawPublicKey(key) }
    token = appendClaims(token, { holder, claims: last }).token
    holder = key
  }
  return { run: bench.runs[0] ?? 'run_none', token, holder, claims: last }
}

export const CHAIN_CASES: readonly AttackCase[] = [
  {
    id: 'T01',
    goal: 'Spend with a chain of one’s own that says what an honest one says',
    method: 'The same claims signed under the attacker’s root key, which borrows the real key’s id',
    expected: REFUSED,
    run: async (bench) => {
      const { root, quote, leaf } = await bench.purchase()
      const { id } = bench.world.root
      const forged = remint(bench, [root.claims, leaf.claims], { id, key: newKey() })
      return bench.seen(await bench.pay(forged, quote))
    },
  },
  {
    id: 'T02',
    goal: 'Bring the wider parent back',
    method: 'The last block is cut off and the old proof kept, signed for by the leaf’s own key',
    expected: REFUSED,
    run: async (bench) =>
      payAs(bench, await deepLeaf(bench), (token) => withBlocks(token, (all) => all.slice(0, -1))),
  },
  {
    id: 'T03',
    goal: 'Lose the block that limits the payees',
    method: 'One middle block is taken out',
    expected: REFUSED,
    run: async (bench) =>
      payAs(bench, await deepLeaf(bench), (token) =>
        withBlocks(token, (blocks) => blocks.filter((_, i) => i !== 2)),
      ),
  },
  {
    id: 'T04',
    goal: 'Have a later limit read as an earlier one',
    method: 'Two blocks change places',
    expected: REFUSED,
    run: async (bench) =>
      payAs(bench, await deepLeaf(bench), (token) =>
        withBlocks(token, ([root, a, b, ...rest]) => (root && a && b ? [root, b, a, ...rest] : [])),
      ),
  },
  {
    id: 'T11',
    goal: 'Have a signature checked by another algorithm',
    method: 'An Ed25519 key inside the token is labelled P-256: of the next signer, of the holder',
    expected: REFUSED,
    run: async (bench) => {
      const bought = await bench.purchase()
      const relabelled = (key: TokenKey) => ({ ...key, algorithm: 1 })
      const signers = await bench.pay(
        {
          ...bought.leaf,
          token: withBlocks(bought.leaf.token, (blocks) =>
            blocks.map((block) =>
              block.external
                ? { ...block, external: { ...block.external, key: relabelled(block.external.key) } }
                : block,
            ),
          ),
        },
        bought.quote,
      )
      bench.must(signers, 401, 'token_invalid')
      return payAs(bench, bought, (token) =>
        withBlocks(token, (blocks) =>
          blocks.map((block) => ({ ...block, nextKey: relabelled(block.nextKey) })),
        ),
      )
    },
  },
  {
    id: 'T12',
    goal: 'Fall back to an older signature format that binds less',
    method: 'The later block claims format 0 where we mint format 1',
    expected: REFUSED,
    run: async (bench) =>
      payAs(bench, await bench.purchase(), (token) =>
        withBlocks(token, (blocks) => blocks.map((block) => ({ ...block, version: 0 }))),
      ),
  },
  {
    id: 'T13',
    goal: 'Exhaust the verifier with size',
    method: '18 blocks, then one character more than a token may have, then five megabytes',
    expected: { status: 401, code: 'too_large' },
    run: async (bench) => {
      const { root, quote, leaf } = await bench.purchase()
      let long: Pick<Held, 'token' | 'holder'> = root
      for (let i = 0; i < LIMITS.tokenBlocks; i += 1) {
        const payload = Buffer.from([0x18, 0x05])
        const { token } = append(long.token, { holder: newKey(), payload, sealed: false })
        long = { token, holder: root.holder }
      }
      bench.must(await bench.pay(long, quote), 401, 'too_large')
      const huge = { token: 'A'.repeat(5 * 1024 * 1024), holder: leaf.holder }
      bench.must(await bench.pay(huge, quote), 431)
      const over = { token: 'A'.repeat(LIMITS.tokenChars + 1), holder: leaf.holder }
      return bench.seen(await bench.pay(over, quote))
    },
  },
  {
    id: 'T18',
    goal: 'Use a root key that is no longer in force',
    method:
      'The key is rotated; once its grace is over, an honest token of it and a chain by its stolen private half',
    expected: { status: 401, code: 'root_unknown' },
    world: 'late',
    run: async (bench) => {
      const stolen = bench.world.root
      const { root, quote, leaf } = await bench.purchase()
      const forged = remint(bench, [root.claims, leaf.claims], stolen)
      await bench.world.rotateRootKey(GRACE_SECONDS)
      // Within the grace only the record tells it from an honest one.
      bench.must(await bench.pay(forged, quote), 401, 'token_invalid')
      bench.world.pushClock(GRACE_SECONDS * 1_000)
      bench.must(await bench.pay(leaf, quote), 401, 'root_unknown')
      return bench.seen(await bench.pay(forged, quote))
    },
  },
  {
    id: 'T19',
    goal: 'Have the verifier fall back to its default key',
    method: 'An honest token that names an unknown root key id',
    expected: { status: 401, code: 'root_unknown' },
    guards: 'authenticity',
    run: async (bench) =>
      payAs(bench, await bench.purchase(), (token) => withRootKeyId(token, 4_000_000_000)),
  },
  {
    id: 'T21',
    goal: 'Add a block that nobody was asked to sign',
    method:
      'A block of the right grammar, signed by a key that the block before it does not declare',
    expected: { status: 401, code: 'signer' },
    guards: 'authenticity',
    run: async (bench) => {
      const root = await bench.run()
      const { quote, leaf } = bench.mintLeaf(root)
      const { token } = appendClaims(root.token, { holder: newKey(), claims: leaf.claims })
      return bench.seen(await bench.pay({ ...leaf, token }, quote))
    },
  },
  {
    id: 'T21b',
    goal: 'Have one key stand for two places of the chain',
    method: 'A planner gives its child its own key',
    expected: { status: 401, code: 'signer' },
    run: async (bench) => {
      const root = await bench.run()
      const { quote, leaf } = bench.mintLeaf(root)
      const same = { ...leaf.claims, holder: rawPublicKey(root.holder) }
      const { token } = appendClaims(root.token, { holder: root.holder, claims: same })
      return bench.seen(await bench.pay({ token, holder: root.holder }, quote))
    },
  },
  {
    id: 'T21c',
    goal: 'Bring a person’s approval along',
    method: 'A block that says “approved by human”, signed by a key that nobody declared',
    expected: { status: 401, code: 'grammar' },
    run: async (bench) => {
      const root = await bench.run()
      const { quote, leaf } = bench.mintLeaf(root)
      const payload = await compile(`${blockText(leaf.claims)}; approved("human")`)
      const { token } = append(root.token, { holder: newKey(), payload })
      return bench.seen(await bench.pay({ ...leaf, token }, quote))
    },
  },
  {
    id: 'T21d',
    goal: 'Delegate without being the holder',
    method:
      'A thief of an open token appends a good leaf as stock Biscuit lets anybody: first-party',
    expected: { status: 401, code: 'signer' },
    run: async (bench) => {
      const root = await bench.run()
      const { quote, leaf } = bench.mintLeaf(root)
      const text = blockText(leaf.claims)
      const token = await appendFirstParty(root.token, bench.world.root.key, text)
      bench.must(await bench.register(root, token), 403, 'signer')
      return bench.seen(await bench.pay({ ...leaf, token }, quote))
    },
  },
  {
    id: 'T30',
    goal: 'Extend a token that was closed',
    method: 'A sealed leaf’s holder signs one more, behind the old final signature or a new secret',
    expected: REFUSED,
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      const envelope = envelopeOf(leaf.token)
      const open = tokenOf({ ...envelope, proof: { nextSecret: randomBytes(32) } })
      const below = bench.mint({ ...leaf, token: open }, bench.leafClaims(quote))
      bench.must(await bench.pay(below, quote), 401, 'token_invalid')
      const behind = tokenOf({ ...envelopeOf(below.token), proof: envelope.proof })
      return bench.seen(await bench.pay({ ...below, token: behind }, quote))
    },
  },
  {
    id: 'T35b',
    goal: 'Be let in by a token that says nothing',
    method: 'A first block without a fact or a check, under the attacker’s key and the real one',
    expected: { status: 401, code: 'grammar' },
    run: async (bench) => {
      const { id, key } = bench.world.root
      const empty = (rootKey: KeyObject) =>
        signFirstBlock({ rootKey, rootKeyId: id, payload: Buffer.from([0x18, 0x04]) })
      const holder = newKey()
      const own = { token: empty(newKey()).token, holder }
      bench.must(await bench.pay(own, bench.quote()), 401, 'token_invalid')
      return bench.seen(await bench.pay({ token: empty(key).token, holder }, bench.quote()))
    },
  },
  {
    id: 'T38',
    goal: 'Dodge a register that is kept over a token’s text',
    method: 'The paid token again, in other base64 and with an unknown protobuf field behind it',
    expected: REFUSED,
    run: async (bench) => {
      const { quote, leaf } = await bench.purchase()
      bench.must(await bench.pay(leaf, quote), 200)
      const padded = { token: `${leaf.token}==`, holder: leaf.holder }
      const again = bench.must(await bench.pay(padded, quote), 200)
      bench.claim(again.headers.has('idempotent-replayed'), 'expected the first answer again')
      const tail = new Writer()
      tail.chunk(15, Buffer.from('other bytes'))
      const other = { token: withTail(leaf.token, tail.finish()), holder: leaf.holder }
      return bench.seen(await bench.pay(other, quote), [bench.move()])
    },
  },
  {
    id: 'T38b',
    goal: 'Have one leaf count as two',
    method: 'The parent appends the leaf’s signed claims again: same holder, new revocation id',
    expected: REFUSED,
    guards: 'authenticity',
    run: async (bench) => {
      const { root, quote, leaf } = await bench.purchase()
      const { token } = appendClaims(root.token, { holder: root.holder, claims: leaf.claims })
      return bench.seen(await bench.pay({ token, holder: leaf.holder }, quote))
    },
  },
  {
    id: 'T39',
    goal: 'Spend with a split that the ledger never saw',
    method: 'An honest planner’s leaf, minted and never registered',
    expected: REFUSED,
    guards: 'authenticity',
    run: async (bench) => {
      const root = await bench.run()
      const { quote, leaf } = bench.mintLeaf(root)
      return bench.seen(await bench.pay(leaf, quote))
    },
  },
  {
    id: 'T44',
    goal: 'Choose one’s own place in the tree',
    method: 'A child under a node id that the gateway never allotted to its parent',
    expected: { status: 403, code: 'token_invalid' },
    run: async (bench) => {
      const a = await bench.run()
      const b = await bench.run()
      const stolen = bench.mint(b).claims.node
      const child = bench.mint(a, { ceiling: 1_000, node: stolen })
      return bench.seen(await bench.register(a, child.token, 0))
    },
  },
]
