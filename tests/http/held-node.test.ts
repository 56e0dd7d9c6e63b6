/** A planner in another process, over real HTTP with real tokens: lost replies, and hostile siblings. */
import { randomBytes, sign } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { append, appendClaims, envelopeOf, tokenOf } from '../../eval/attacks/forge/tokens.ts'
import type { Fetch } from '../../runtime/client/client.ts'
import { encodeBlock } from '../../runtime/client/encode.ts'
import { ClientError } from '../../runtime/client/errors.ts'
import { HeldNode, retrying } from '../../runtime/client/node.ts'
import type { BlockClaims } from '../../runtime/core/block.ts'
import { systemClock } from '../../runtime/core/clock.ts'
import { allottedNodeIdOf, sha256 } from '../../runtime/core/ids.ts'
import { ed25519FromSeed, rawPublicKey } from '../../runtime/core/keys.ts'
import { LIMITS } from '../../runtime/core/limits.ts'
import { minor, ZERO } from '../../runtime/core/money.ts'
import { seconds } from '../../runtime/core/time.ts'
import {
  type Held,
  newKey,
  signed,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from './gateway.ts'

const CEILING = 100_000

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway()
}, 60_000)
afterAll(() => gateway.close())

const hold = ({ token, holder }: Held, fetch?: Fetch) =>
  new HeldNode({
    gateway: gateway.url,
    token,
    holder,
    clock: systemClock(),
    ...(fetch && { fetch }),
  })

/** A root as its holder has it, and the same with a network between that loses the first replies. */
async function root(lost = 0) {
  const held = await startOutsideRun(gateway)
  let sent = 0
  const fetch: Fetch = async (url, init) => {
    const answer = await globalThis.fetch(url, init)
    sent += 1
    if (sent <= lost) throw new TypeError('fetch failed')
    return answer
  }
  return { held, node: hold(held, fetch), sent: () => sent }
}

const PLANNER = { kind: 'planner', ceiling: minor(10_000), nodes: 4 } as const

async function rowsOf(node: HeldNode) {
  const { nodes } = await node.client.readRun(node.run)
  return nodes.map(({ kind, ceiling, available, allotted, standing }) => {
    return { kind, ceiling, available, allotted, standing }
  })
}

describe('a planner whose replies are lost', () => {
  it('finds the node that it registered, and no money moves twice', async () => {
    const { node, sent } = await root(2)
    const child = await node.split(PLANNER)
    expect(sent()).toBe(3)
    expect(child.claims.node).toBe(allottedNodeIdOf(node.claims.node, 0))
    expect(await rowsOf(node)).toMatchObject([{ available: CEILING - 10_000 }, { ceiling: 10_000 }])
    expect(await child.left()).toBe(10_000)
  })

  it('is answered the same when it sends the same child again, also after more has happened', async () => {
    const { node, held } = await root()
    const child = await node.split(PLANNER)
    const { token } = mintedAs(held, { node: allottedNodeIdOf(held.node, 1) })
    const first = await node.client.registerNode(node.run, token, 2)
    await child.split({ kind: 'leaf', ceiling: minor(500), quote: sha256('q') })
    await node.close(child)
    expect(await node.client.registerNode(node.run, token, 2)).toEqual(first)
    expect(await node.left()).toBe(CEILING - 10_000)
  })

  it('is not given more nodes by asking for more the second time', async () => {
    const { node, held } = await root()
    const child = mintedAs(held)
    await node.client.registerNode(node.run, child.token, 1)
    await node.client.registerNode(node.run, child.token, 20)
    const planner = hold({ ...held, ...child })
    await planner.split({ kind: 'looker', ceiling: ZERO })
    await expect(planner.split({ kind: 'looker', ceiling: ZERO })).rejects.toMatchObject({
      code: 'insufficient',
      advice: 'ask_parent',
    })
  })

  it('closes once, and pays once', async () => {
    const { node, held } = await root()
    const quote = gateway.quote()
    const wish = { kind: 'leaf', ceiling: minor(2_500), quote: sha256(quote) } as const
    const leaf = await node.split(wish)
    const before = gateway.rail.paid
    for (let sent = 0; sent < 2; sent += 1) {
      expect(await leaf.client.pay(quote)).toMatchObject({ verdict: 'allow', state: 'settled' })
      expect((await node.close(leaf)).node.standing).toBe('closed')
    }
    expect(gateway.rail.paid - before).toBe(1)
    expect(await hold(held).left()).toBe(CEILING - 2_500)
  })

  it('that was started again passes over what it made before, and closes it by its id', async () => {
    const { node, held } = await root()
    const lost = await node.split(PLANNER)
    const again = hold(held)
    const child = await again.split(PLANNER)
    expect(child.claims.node).toBe(allottedNodeIdOf(held.node, 1))
    expect(await again.left()).toBe(CEILING - 20_000)
    await again.client.closeNode(again.run, lost.claims.node)
    expect(await again.left()).toBe(CEILING - 10_000)
  })

  it('gives up at last, and at once where asking again cannot help', async () => {
    let asked = 0
    const failing = (advice: 'retry' | 'stop') =>
      retrying(() => {
        asked += 1
        return Promise.reject(new ClientError('no', { status: 503, code: 'unavailable', advice }))
      }, 2)
    await expect(failing('retry')).rejects.toMatchObject({ code: 'unavailable' })
    expect(asked).toBe(2)
    await expect(failing('stop')).rejects.toThrow('no')
    expect(asked).toBe(3)
  })

  it('does not wait for a time that somebody names to hold it up', async () => {
    let asked = 0
    const call = () => {
      asked += 1
      const fields = { status: 503, code: 'unavailable', advice: 'retry' } as const
      return Promise.reject(new ClientError('no', { ...fields, retryAfterSeconds: 999_999 }))
    }
    await expect(retrying(call)).rejects.toMatchObject({ retryAfterSeconds: 999_999 })
    expect(asked).toBe(1)
  })

  it('is told at once that it holds another’s token', async () => {
    const { held } = await root()
    expect(() => hold({ ...held, holder: newKey() })).toThrow('names as its holder')
  })
})

describe('a planner whose children are refused', () => {
  it('keeps their places, however often it asks', async () => {
    const { node } = await root()
    const tooMany = { ...PLANNER, nodes: 9_999 }
    for (let asked = 0; asked < 20; asked += 1) {
      await expect(node.split(tooMany)).rejects.toMatchObject({ code: 'insufficient' })
    }
    const children = await Promise.all([node.split(PLANNER), node.split(PLANNER)])
    const ids = children.map(({ claims }) => claims.node)
    expect(ids.sort()).toEqual([0, 1].map((i) => allottedNodeIdOf(node.claims.node, i)).sort())
  })

  it('is told of a child that can never be, and not that its place is taken', async () => {
    const { node, sent } = await root()
    const quote = sha256('q')
    const leaf = { kind: 'leaf', ceiling: minor(500), quote } as const
    await expect(node.split({ ...leaf, nodes: 2 })).rejects.toMatchObject({ code: 'not_a_leaf' })
    await expect(node.split({ ...leaf, ceiling: ZERO })).rejects.toMatchObject({
      code: 'capability',
    })
    expect(sent()).toBe(2)
    expect((await node.split(leaf)).claims.node).toBe(allottedNodeIdOf(node.claims.node, 0))
  })

  it('stops asking a gateway for which every place is taken', async () => {
    const held = await startOutsideRun(gateway)
    const taken = {
      type: 'urn:headgate:problem:conflict',
      status: 409,
      code: 'conflict',
      title: 'taken',
      advice: 'stop',
    }
    let asked = 0
    const fetch: Fetch = async () => {
      asked += 1
      return new Response(JSON.stringify(taken), {
        status: 409,
        headers: { 'content-type': 'application/problem+json' },
      })
    }
    await expect(hold(held, fetch).split(PLANNER)).rejects.toMatchObject({ code: 'conflict' })
    expect(asked).toBe(LIMITS.fanOut + 1)
  })
})

/** A child as somebody mints it whom no client of ours holds back. */
function mintedAs(parent: Held, change: Partial<BlockClaims> = {}, sealed?: boolean) {
  const holder = newKey()
  const claims: BlockClaims = {
    node: allottedNodeIdOf(parent.node, 0),
    kind: 'planner',
    currency: 'INR',
    ceiling: minor(10_000),
    holder: rawPublicKey(holder),
    expiresAtSeconds: seconds(Math.floor(systemClock().nowMs() / 1000) + 600),
    payees: ['shop'],
    ...change,
  }
  const more = sealed === undefined ? {} : { sealed }
  const { token } = appendClaims(parent.token, { holder: parent.holder, claims, ...more })
  return { node: claims.node, token, holder, claims }
}

const register = async (parent: Held, token: string) => {
  const answer = await signed(gateway, parent, 'POST', `/runs/${parent.run}/nodes`, { token })
  const { code } = (await answer.json()) as { code?: string }
  return code === undefined ? `${answer.status}` : `${answer.status} ${code}`
}

/** Everything that a hostile sibling tried must leave the parent as it was. */
const untouched = async (parent: Held) =>
  expect(await rowsOf(hold(parent))).toMatchObject([{ available: CEILING, allotted: 0 }])

describe('a hostile planner', () => {
  it('gives no child more than it has, claim by claim', async () => {
    const { held } = await root()
    const wider: [Partial<BlockClaims>, string][] = [
      [{ ceiling: minor(CEILING + 1) }, '403 widened'],
      [{ currency: 'USD' }, '403 widened'],
      [{ expiresAtSeconds: seconds(4_000_000_000) }, '403 widened'],
      [{ payees: ['other', 'shop'] }, '403 widened'],
      [{ kind: 'looker' }, '403 widened'],
      [{ node: held.node }, '403 token_invalid'],
      [{ holder: rawPublicKey(held.holder) }, '403 signer'],
      [{ run: held.run, mandate: sha256('m') }, '403 grammar'],
    ]
    for (const [change, expected] of wider) {
      expect([change, await register(held, mintedAs(held, change).token)]).toEqual([
        change,
        expected,
      ])
    }
    await untouched(held)
  })

  it('registers no block that nobody signed as its holder, and none without its chain', async () => {
    const { held } = await root()
    expect(await register(held, firstParty(held))).toBe('403 signer')
    const { token } = mintedAs(held)
    const [, block] = envelopeOf(token).blocks
    const bare = Buffer.from(block?.payload ?? []).toString('base64url')
    const alone = tokenOf({ ...envelopeOf(token), blocks: block ? [block] : [] })
    for (const part of [bare, alone]) {
      expect(await register(held, part)).toBe('403 token_invalid')
    }
    await untouched(held)
  })

  it('registers nothing below a looker or a leaf, as either of them or for them', async () => {
    const { held, node } = await root()
    for (const change of [
      { kind: 'looker' as const, ceiling: ZERO },
      { kind: 'leaf' as const, quote: sha256('q') },
    ]) {
      const child = await node.split({ ceiling: minor(10), ...change })
      const open = mintedAs(held, { ...child.claims, node: child.claims.node }, false)
      const below = append(open.token, {
        holder: open.holder,
        payload: encodeBlock(mintedAs({ ...held, ...open }).claims, 2),
        sealed: false,
      })
      expect(await register(held, below.token)).toMatch(/^403 (token_invalid|signer|grammar)$/)
      const asItself = await signed(
        gateway,
        { ...held, ...open },
        'POST',
        `/runs/${held.run}/nodes`,
        {
          token: below.token,
        },
      )
      expect(asItself.status).toBe(401)
    }
  })

  it('puts no second child in the place of a recorded one', async () => {
    const { held } = await root()
    const [first, twin] = [mintedAs(held), mintedAs(held)]
    expect(await register(held, first.token)).toBe('201')
    expect(await register(held, twin.token)).toBe('409 conflict')
    const { token } = append(held.token, {
      holder: held.holder,
      payload: encodeBlock(first.claims, 1),
      sealed: false,
    })
    expect(await register(held, token)).toBe('409 conflict')
    // What was asked can never be: only another child can.
    const answer = await signed(gateway, held, 'POST', `/runs/${held.run}/nodes`, { token })
    expect(await answer.json()).toMatchObject({ code: 'conflict', advice: 'stop' })
    expect(await hold(held).left()).toBe(CEILING - 10_000)
    const stranger = hold({ ...held, ...twin })
    await expect(stranger.client.readRun(held.run)).rejects.toMatchObject({ status: 401 })
  })

  it('does nothing by another holder’s proof, nor once it is closed', async () => {
    const { held, node } = await root()
    const sibling = await node.split(PLANNER)
    const child = mintedAs(held, { node: allottedNodeIdOf(held.node, 1) })
    expect(await register({ ...held, holder: child.holder }, child.token)).toBe(
      '401 unauthenticated',
    )
    await node.close()
    expect(await register(held, child.token)).toBe('403 run_closed')
    await expect(sibling.split({ kind: 'looker', ceiling: ZERO })).rejects.toMatchObject({
      code: 'run_closed',
    })
  })
})

/** A block without a word, in the library's first form: no third party has signed it. */
function firstParty(parent: Held): string {
  const { proof, blocks, rootKeyId } = envelopeOf(parent.token)
  if (!('nextSecret' in proof)) throw new Error('expected an open token')
  const seed = randomBytes(32)
  const next = Buffer.from(rawPublicKey(ed25519FromSeed(seed)), 'base64url')
  const payload = Buffer.from([0x18, 0x04])
  const signed = Buffer.concat([payload, Buffer.alloc(4), next])
  const signature = sign(null, signed, ed25519FromSeed(proof.nextSecret))
  const block = { payload, nextKey: { algorithm: 0, bytes: next }, signature, version: 0 }
  return tokenOf({
    ...(rootKeyId === undefined ? {} : { rootKeyId }),
    blocks: [...blocks, block],
    proof: { nextSecret: seed },
  })
}
