import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createSecretManager, type SecretManager } from '../../runtime/secrets/secret-manager.ts'
import { startSecretManager } from '../support/secret-manager-stand-in.ts'

const SECRET = 'projects/acme-money/secrets/rail-key'
const VALUE = 'kept-by-the-manager-0123456789'

let server: Awaited<ReturnType<typeof startSecretManager>>
let manager: SecretManager

beforeAll(async () => {
  server = await startSecretManager()
  manager = createSecretManager({ standIn: server.standIn, deadlineMs: 30_000 })
  server.secrets.set(SECRET, [
    { value: 'the-first-version' },
    { value: 'a-disabled-version', state: 'DISABLED' },
    { value: 'a-destroyed-version', state: 'DESTROYED' },
    { value: `${VALUE}\n` },
  ])
})
afterEach(() => {
  server.faults.length = 0
  server.asked.length = 0
  server.denied.clear()
})
afterAll(async () => {
  await manager.close()
  await server.close()
})

const access = async (reference: string) => {
  const read = await manager.access(reference)
  return read.kind === 'value' ? read.secret.reveal() : `refused: ${read.reason}`
}

describe('a reference to Secret Manager', () => {
  it('gives the version that it names, without the line end of a file', async () => {
    expect(await access(`sm://${SECRET}/versions/1`)).toBe('the-first-version')
    expect(await access(`sm://${SECRET}/versions/4`)).toBe(VALUE)
    expect(await access(`sm://${SECRET}/versions/latest`)).toBe(VALUE)
  })

  it('is asked for once each time, and kept nowhere', async () => {
    for (let i = 0; i < 3; i += 1) await access(`sm://${SECRET}/versions/1`)
    expect(server.asked).toEqual(Array(3).fill(`/v1/${SECRET}/versions/1:access`))
  })

  it.each([
    'sm://',
    'sm://projects/acme-money/secrets/rail-key',
    'sm://projects/acme-money/secrets/rail-key/versions/0',
    'sm://projects/acme-money/secrets/rail-key/versions/1/extra',
    'sm://projects/acme-money/secrets/../secrets/x/versions/1',
    'sm://projects/acme-money/secrets/a%2Fb/versions/1',
    'sm://projects/acme-money/locations/x/secrets/a/versions/1',
    'sm://PROJECTS/acme-money/secrets/rail-key/versions/1',
    ' sm://projects/acme-money/secrets/rail-key/versions/1',
  ])('of another form is refused, and nobody is asked: %s', async (reference) => {
    expect(await access(reference)).toMatch(/^refused: expected sm:\/\/projects/)
    expect(server.asked).toEqual([])
  })

  it.each([
    [`sm://${SECRET}/versions/2`, /disabled or destroyed/],
    [`sm://${SECRET}/versions/3`, /disabled or destroyed/],
    [`sm://${SECRET}/versions/9`, /no such/],
    [`sm://${SECRET}-2/versions/1`, /no such/],
  ])('to what cannot be read says why: %s', async (reference, why) => {
    const said = await access(reference)
    expect(said).toMatch(why)
    expect(said).not.toMatch(/NAME-OF-THE-SECRET|rail-key/)
    expect(server.asked).toHaveLength(1)
  })

  it('that is denied says which right is missing', async () => {
    server.denied.add(SECRET)
    expect(await access(`sm://${SECRET}/versions/1`)).toMatch(/denied: .*secretAccessor/)
    expect(server.asked.length).toBeLessThanOrEqual(2)
  })

  it('by a service that is somebody else says so', async () => {
    const other = await startSecretManager()
    const { credentials } = other.standIn
    await other.close()
    const stranger = createSecretManager({ standIn: { ...server.standIn, credentials } })
    const read = await stranger.access(`sm://${SECRET}/versions/1`)
    await stranger.close()
    expect(read).toMatchObject({ kind: 'refused', reason: /not accepted/ })
  })

  it.each([
    ['reset', /could not be reached/],
    ['unavailable', /could not be reached/],
    ['html', /could not be reached/],
    ['cut', /could not be reached/],
    ['empty', /empty/],
    ['quota', /quota/],
  ] as const)('is asked for no second time after %s', async (fault, why) => {
    server.faults.push(fault)
    expect(await access(`sm://${SECRET}/versions/1`)).toMatch(why)
    expect(server.asked).toHaveLength(1)
  })

  it('is waited for until the deadline and no longer', async () => {
    server.faults.push('hang')
    const quick = createSecretManager({ standIn: server.standIn, deadlineMs: 2_000 })
    const read = await quick.access(`sm://${SECRET}/versions/1`)
    await quick.close()
    expect(read).toMatchObject({ kind: 'refused', reason: /did not answer in time/ })
    expect(server.asked).toHaveLength(1)
  })

  it('is compared with its checksum by the published value of CRC-32C', async () => {
    const known = `${SECRET}-known`
    server.secrets.set(known, [{ value: '123456789', crc32c: String(0xe3069283) }])
    expect(await access(`sm://${known}/versions/1`)).toBe('123456789')
  })

  it('to what is no secret is refused', async () => {
    const odd = `${SECRET}-odd`
    server.secrets.set(odd, [
      { value: '' },
      { value: '\n' },
      { value: Buffer.from([0xff, 0xfe, 0x80, 0x81]) },
      { value: 'x'.repeat(65_537) },
      { value: `sm://${SECRET}/versions/1` },
      { value: VALUE, crc32c: '1' },
    ])
    const said: string[] = []
    for (let i = 1; i <= 6; i += 1) said.push(await access(`sm://${odd}/versions/${i}`))
    expect(said).toEqual([
      expect.stringMatching(/empty or no text/),
      expect.stringMatching(/empty or no text/),
      expect.stringMatching(/empty or no text/),
      expect.stringMatching(/too large/),
      expect.stringMatching(/a reference again/),
      expect.stringMatching(/checksum/),
    ])
    expect(said.join()).not.toContain(VALUE)
  })
})
