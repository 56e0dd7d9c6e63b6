import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { eventHash } from '../../runtime/core/events.ts'
import type { NodeId, RunId } from '../../runtime/core/ids.ts'
import { seconds } from '../../runtime/core/time.ts'
import { COOKIE } from '../../runtime/http/access.ts'
import { type EventClient, openEvents } from './events.ts'
import { type Held, post, startGateway, startOutsideRun, type TestGateway } from './gateway.ts'

let gateway: TestGateway
let planner: Held
const open: EventClient[] = []

beforeAll(async () => {
  gateway = await startGateway({ overrides: { streams: { heartbeatMs: 50 } } })
  planner = await startOutsideRun(gateway)
}, 60_000)
afterEach(() => {
  for (const client of open.splice(0)) client.close()
})
afterAll(() => gateway.close())

async function follow(
  more: { after?: string; headers?: Record<string, string>; run?: RunId; of?: TestGateway } = {},
): Promise<EventClient> {
  const of = more.of ?? gateway
  const query = more.after === undefined ? '' : `?after=${more.after}`
  const headers = { authorization: `Bearer ${of.token}`, ...more.headers }
  const client = await openEvents(
    `${of.url}/runs/${more.run ?? planner.run}/events${query}`,
    headers,
  )
  open.push(client)
  return client
}

async function note(times: number, of: TestGateway = gateway, node: NodeId = planner.node) {
  for (let i = 0; i < times; i += 1) {
    await of.headgate.ledger.execute('note', {
      stream: node,
      type: 'planned',
      data: { act: 'test', i },
      now: seconds(1_800_000_000),
    })
  }
}

async function facts(client: EventClient, count: number): Promise<number[]> {
  const positions: number[] = []
  while (positions.length < count) {
    const fact = await client.next('fact')
    if (fact === undefined) break
    positions.push(Number(fact.data.position))
  }
  return positions
}

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i)

const headOf = async (of: TestGateway = gateway, run: RunId = planner.run) =>
  ((await (await of.asOperator(`/runs/${run}`)).json()) as { position: number }).position

describe('a run’s stream', () => {
  it('begins with a heartbeat that tells the head, then gives every fact once, in order', async () => {
    await note(300)
    const head = await headOf()
    const client = await follow()
    expect(client.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(client.headers.get('cache-control')).toBe('no-store, no-transform')
    expect((await client.next('hb', 'fact'))?.data).toMatchObject({ head })
    expect(await facts(client, head)).toEqual(range(1, head))
  })

  it('carries facts whose hash is that of their text, under their position as id', async () => {
    const fact = await (await follow()).next('fact')
    expect(fact?.id).toBe('1')
    expect(eventHash(String(fact?.data.body))).toBe(fact?.data.hash)
  })

  it('goes on exactly after Last-Event-ID, though facts came in while nobody listened', async () => {
    const first = await follow()
    const before = await facts(first, 3)
    first.close()
    await note(5)
    const head = await headOf()
    const again = await follow({ headers: { 'last-event-id': String(before.at(-1)) } })
    expect(await facts(again, head - 3)).toEqual(range(4, head))
  })

  it('goes on after the query’s position, and the header wins over it', async () => {
    expect(await facts(await follow({ after: '7' }), 1)).toEqual([8])
    const both = await follow({ after: '7', headers: { 'last-event-id': '9' } })
    expect(await facts(both, 1)).toEqual([10])
  })

  it('gives facts that are committed while it is open to every reader, once each', async () => {
    const head = await headOf()
    const readers = await Promise.all([follow({ after: String(head) }), follow(), follow()])
    const writing = note(40)
    expect(await facts(readers[0] as EventClient, 40)).toEqual(range(head + 1, head + 40))
    for (const reader of readers.slice(1)) {
      expect(await facts(reader, head + 40)).toEqual(range(1, head + 40))
    }
    await writing
  })

  it('loses nothing while a reader joins in the middle of a burst', async () => {
    const start = await headOf()
    const writing = note(400)
    const readers: EventClient[] = []
    for (let i = 0; i < 10; i += 1) readers.push(await follow({ after: String(start) }))
    await writing
    for (const reader of readers) {
      expect(await facts(reader, 400)).toEqual(range(start + 1, start + 400))
    }
  })

  it('beats with a named event', async () => {
    const client = await follow({ after: String(await headOf()) })
    await client.next('hb')
    const beat = await client.next('hb')
    expect(beat?.data.head).toBe(await headOf())
    expect(Number.isSafeInteger(beat?.data.now)).toBe(true)
  })

  it('resets a cursor from beyond its head, and moves the browser’s own cursor with it', async () => {
    const client = await follow({ after: '999999' })
    const reset = await client.next('reset')
    expect(reset?.data).toEqual({ reason: 'ahead', head: await headOf() })
    expect(reset?.id).toBe(String(await headOf()))
    await note(1)
    expect(await facts(client, 1)).toEqual([await headOf()])
  })

  it.each(['-1', '1.5', 'x', '', '1e3', '99999999999999999999'])(
    'refuses a cursor that is no position: %j',
    async (after) => {
      expect((await follow({ after })).status).toBe(400)
    },
  )

  it('of a run that does not exist is not found', async () => {
    expect((await follow({ run: 'run_none' })).status).toBe(404)
  })

  it('is told bye when its session ends', async () => {
    const { code } = gateway.headgate.newLoginCode()
    const login = await gateway.fetch('/login', post({ code }))
    const cookie = login.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
    expect(cookie).toContain(COOKIE)
    const headers = { cookie, 'sec-fetch-site': 'same-origin' }
    const client = await openEvents(`${gateway.url}/runs/${planner.run}/events`, headers)
    open.push(client)
    await client.next('hb')
    await gateway.fetch('/logout', post({}, headers))
    expect((await client.next('bye'))?.data).toEqual({ reason: 'signed_out' })
    expect(await client.next('fact', 'hb')).toBeUndefined()
  })

  it('is ended by us before it is old', async () => {
    const brief = await startGateway({ overrides: { streams: { ageMs: 20 } } })
    try {
      const { run } = await startOutsideRun(brief)
      const client = await follow({ of: brief, run })
      expect((await client.next('bye'))?.data).toEqual({ reason: 'age' })
      expect(await client.next('hb')).toBeUndefined()
    } finally {
      await brief.close()
    }
  })
})

describe('closing the server', () => {
  it('tells every open stream bye and waits for none of them', async () => {
    const other = await startGateway()
    const { run } = await startOutsideRun(other)
    const clients = await Promise.all(Array.from({ length: 20 }, () => follow({ of: other, run })))
    for (const client of clients) await client.next('fact')
    await other.close()
    for (const client of clients) {
      expect((await client.next('bye'))?.data).toEqual({ reason: 'shutdown' })
    }
  })
})
