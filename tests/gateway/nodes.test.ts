import type { KeyObject } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { BlockClaims } from '../../runtime/core/block.ts'
import { parseEvent } from '../../runtime/core/events.ts'
import { allottedNodeIdOf, type NodeId, type RunId, sha256 } from '../../runtime/core/ids.ts'
import { rawPublicKey } from '../../runtime/core/keys.ts'
import { minor } from '../../runtime/core/money.ts'
import { at, brief, signer, World } from './world.ts'

interface Outside {
  readonly world: World
  readonly run: RunId
  readonly root: { readonly id: NodeId; readonly token: string; readonly key: KeyObject }
}

async function outside(claims: Record<string, unknown> = {}): Promise<Outside> {
  const world = new World()
  const { key } = signer('o')
  const result = await world.gateway.createRun(
    world.mandate({ holder: rawPublicKey(key), ...claims }),
  )
  if (!result.ok || result.token === undefined) throw new Error('no run')
  return { world, run: result.run.id, root: { id: result.node, token: result.token, key } }
}

/** What an outside planner does: mints a child under the next id that it is allotted. */
async function mint(
  { world, root }: Outside,
  change: Partial<BlockClaims> = {},
  parent: { id: NodeId; token: string; key: KeyObject } = root,
) {
  const { key } = signer('c')
  const id = change.node ?? allottedNodeIdOf(parent.id, 0)
  const claims: BlockClaims = {
    node: id,
    kind: 'planner',
    currency: 'INR',
    ceiling: minor(10_000),
    holder: rawPublicKey(key),
    expiresAtSeconds: at(3_000),
    payees: ['shop'],
    ...change,
  }
  const { token } = await world.engine.mintChild(parent.token, parent.key, claims)
  return { id, token, key }
}

const register = (
  { world, run, root }: Outside,
  child: { readonly token: string },
  more: { nodes?: number; parent?: { token: string; key: KeyObject }; run?: RunId } = {},
) => {
  const { nodes, parent = root } = more
  const body = { token: child.token, ...(nodes === undefined ? {} : { nodes }) }
  const path = `/runs/${more.run ?? run}/nodes`
  return world.gateway.registerNode(more.run ?? run, world.request(parent, path, body))
}

describe('an outside planner', () => {
  it('registers a child and so moves money to it, and the child may pay', async () => {
    const place = await outside()
    const { world, root } = place
    const quote = world.merchants.sign()
    const leaf = await mint(place, {
      kind: 'leaf',
      ceiling: minor(1_000),
      quote: sha256(quote),
      payees: ['shop'],
    })
    expect(brief(await world.pay({ ...leaf, quote }))).toBe('401 unauthenticated')
    expect(world.engine.recognised).not.toContain(rawPublicKey(leaf.key))
    expect(brief(await register(place, leaf))).toBe('201')
    expect(world.engine.recognised).toContain(rawPublicKey(leaf.key))
    expect((await world.ledger.account(root.id))?.allotted).toBe(1_000)
    expect(await world.ledger.node(leaf.id)).toMatchObject({ custody: 'outside', label: 'leaf' })
    expect(brief(await world.pay({ ...leaf, quote }))).toBe('200 allow settled')
  })

  it('registers the same child again and nothing moves twice', async () => {
    const place = await outside()
    const child = await mint(place)
    await register(place, child)
    expect((await register(place, child)).status).toBe(201)
    expect((await place.world.ledger.account(place.root.id))?.allotted).toBe(10_000)
  })

  it('may let its planners make nodes of their own, as many as it gives them', async () => {
    const place = await outside()
    const middle = await mint(place)
    await register(place, middle, { nodes: 1 })
    const below = await mint(place, { ceiling: minor(500) }, middle)
    expect((await register(place, below, { parent: middle })).status).toBe(201)
    const more = await mint(
      place,
      { ceiling: minor(500), node: allottedNodeIdOf(middle.id, 1) },
      middle,
    )
    expect(brief(await register(place, more, { parent: middle }))).toBe('403 insufficient')
  })

  it('cannot give what it does not have', async () => {
    const place = await outside()
    await register(place, await mint(place, { ceiling: minor(60_000) }))
    const second = await mint(place, {
      ceiling: minor(40_001),
      node: allottedNodeIdOf(place.root.id, 1),
    })
    expect(brief(await register(place, second))).toBe('403 insufficient')
    const last = await mint(place, {
      ceiling: minor(40_000),
      node: allottedNodeIdOf(place.root.id, 1),
    })
    expect((await register(place, last)).status).toBe(201)
  })

  it('cannot widen, go too deep, or take an id that it was not allotted', async () => {
    const wide: [Partial<BlockClaims>, string][] = [
      [{ ceiling: minor(100_001) }, '403 widened'],
      [{ payees: ['bank'] }, '403 widened'],
      [{ currency: 'USD' }, '403 widened'],
      [{ expiresAtSeconds: at(7_201) }, '403 widened'],
      [{ node: 'nd_squatted' }, '403 token_invalid'],
      [{ node: allottedNodeIdOf('nd_elsewhere', 0) }, '403 token_invalid'],
      [{ node: allottedNodeIdOf('nd_root', 20) }, '403 token_invalid'],
    ]
    for (const [change, expected] of wide) {
      const place = await outside()
      expect(brief(await register(place, await mint(place, change)))).toBe(expected)
      expect((await place.world.ledger.account(place.root.id))?.allotted).toBe(0)
    }
    const place = await outside({ limits: { depth: 1, fanOut: 5, nodes: 10 } })
    const middle = await mint(place)
    await register(place, middle, { nodes: 3 })
    expect(brief(await register(place, await mint(place, {}, middle), { parent: middle }))).toBe(
      '403 depth',
    )
  })

  it('cannot register a chain that does not continue its own', async () => {
    const place = await outside()
    const other = await outside()
    const stranger = await mint(other)
    expect(brief(await register(place, stranger))).toBe('403 token_invalid')
    const middle = await mint(place)
    await register(place, middle, { nodes: 3 })
    const grandchild = await mint(place, {}, middle)
    expect(brief(await register(place, grandchild))).toBe('403 token_invalid')
    expect(brief(await register(place, { token: 'junk' }))).toBe('403 token_invalid')
  })

  it('cannot register a chain whose links above are not the recorded ones, nor an open leaf', async () => {
    const place = await outside()
    const child = await mint(place)
    const { blocks, revocationIds } = JSON.parse(Buffer.from(child.token, 'base64url').toString())
    const ids = ['ffffffff', ...revocationIds.slice(1)]
    const token = place.world.engine.encode({ blocks, revocationIds: ids })
    expect(brief(await register(place, { token }))).toBe('403 token_invalid')
    const looker = await mint(place, { kind: 'looker', ceiling: minor(0) })
    place.world.engine.unsealed = true
    expect(brief(await register(place, looker))).toBe('403 token_invalid')
    place.world.engine.unsealed = false
    expect(brief(await register(place, looker))).toBe('201')
  })

  it('has no say in another run, and a leaf or looker none at all', async () => {
    const place = await outside()
    const child = await mint(place)
    expect(brief(await register(place, child, { run: 'run_other' }))).toBe('404 not_found')
    const looker = await mint(place, { kind: 'looker', ceiling: minor(0) })
    await register(place, looker)
    const below = await mint(place, {}, looker)
    expect(brief(await register(place, below, { parent: looker }))).toMatch(
      /^403 (not_a_leaf|widened)$/,
    )
  })

  it('splits nothing once it is frozen, revoked or its proof was used', async () => {
    for (const [act, code] of [
      ['freeze', 'frozen'],
      ['revoke', 'revoked'],
    ] as const) {
      const place = await outside()
      await place.world.gateway[act](place.root.id, 'olga')
      expect(brief(await register(place, await mint(place)))).toBe(`403 ${code}`)
    }
    const place = await outside()
    const { world, run, root } = place
    const raw = world.request(root, `/runs/${run}/nodes`, { token: (await mint(place)).token })
    expect((await world.gateway.registerNode(run, raw)).status).toBe(201)
    expect(brief(await world.gateway.registerNode(run, raw))).toBe('401 unauthenticated')
  })

  it('leaves every refusal in its own stream', async () => {
    const place = await outside()
    await register(place, await mint(place, { payees: ['bank'] }))
    const events = await place.world.ledger.events(place.root.id, 0, 10)
    expect(events.map(({ body }) => parseEvent(body).type)).toEqual(['opened', 'refused'])
  })
})

describe('closing by an outside planner', () => {
  const close = (
    { world, run }: Outside,
    caller: { token: string; key: KeyObject },
    target: NodeId,
  ) =>
    world.gateway.closeNode(
      run,
      target,
      world.request(caller, `/runs/${run}/nodes/${target}/close`, undefined),
    )

  it('takes a child’s free money back, and the root’s own closing seals the run', async () => {
    const place = await outside()
    const { world, root, run } = place
    const child = await mint(place)
    await register(place, child)
    const answer = await close(place, root, child.id)
    expect(answer).toMatchObject({ status: 200, body: { node: { standing: 'closed' } } })
    expect((await world.ledger.account(root.id))?.available).toBe(100_000)
    expect(await close(place, root, root.id)).toMatchObject({ status: 200 })
    const record = await world.ledger.run(run)
    expect(record?.state).toBe('completed')
    expect(record?.seal).toBeDefined()
  })

  it('reaches a planner’s own subtree and nothing beside or above it', async () => {
    const place = await outside()
    const { root } = place
    const child = await mint(place)
    const sibling = await mint(place, { node: allottedNodeIdOf(root.id, 1) })
    await register(place, child)
    await register(place, sibling)
    expect(brief(await close(place, child, sibling.id))).toBe('404 not_found')
    expect(brief(await close(place, child, root.id))).toBe('404 not_found')
    expect(brief(await close(place, child, 'nd_nowhere'))).toBe('404 not_found')
    expect((await close(place, child, child.id)).status).toBe(200)
  })
})

describe('reading by a planner', () => {
  it('is allowed with a fresh proof, also after the run has ended, and lengthens no chain', async () => {
    const place = await outside()
    const { world, root, run } = place
    const read = (node: { token: string; key: KeyObject }) =>
      world.gateway.admitReader(
        world.request(node, `/runs/${run}`, undefined, {
          method: 'GET',
          raw: { query: 'after=2' },
        }),
      )
    const head = (await world.ledger.account(root.id))?.head
    expect(await read(root)).toEqual({ ok: true, run, node: root.id })
    expect((await world.ledger.account(root.id))?.head).toEqual(head)
    await world.gateway.close(root.id, 'olga')
    expect(await read(root)).toMatchObject({ ok: true })
    const thief = await read({ ...root, key: signer('t').key })
    expect(thief.ok ? 'ok' : brief(thief.answer)).toBe('401 unauthenticated')
  })

  it('is not for a leaf', async () => {
    const place = await outside()
    const leaf = await mint(place, { kind: 'leaf', quote: sha256('q'), ceiling: minor(5) })
    await register(place, leaf)
    const raw = place.world.request(leaf, '/runs', undefined, { method: 'GET' })
    const reader = await place.world.gateway.admitReader(raw)
    expect(reader.ok ? 'ok' : brief(reader.answer)).toBe('403 not_a_leaf')
  })
})
