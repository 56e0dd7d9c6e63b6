import { beforeAll, describe, expect, it } from 'vitest'
import { isSound, type Survey } from '../../eval/rails/endpoints.ts'
import { survey } from '../../eval/rails/survey.ts'
import { hasPaypalDocuments, NO_DOCUMENTS } from '../support/paypal-openapi.ts'
import { read } from '../support/source.ts'

if (!hasPaypalDocuments) process.stdout.write(`PayPal’s requests are not judged: ${NO_DOCUMENTS}\n`)

describe('the survey of the rails', () => {
  let found: Survey

  beforeAll(async () => {
    found = await survey()
  }, 60_000)

  const list = () => found.endpoints.map(({ operation, why }) => ({ operation, why }))

  it('sends every request that an adapter’s source can compose', () => {
    expect(found.problems).toEqual([])
    expect(found.notReached).toEqual([])
    expect(found.endpoints.length).toBeGreaterThan(35)
  })

  it('finds every request sound', () => {
    expect(list().filter(({ why }) => why.length > 0)).toEqual([])
    expect(isSound(found)).toBe(true)
  })

  it('sees what is unsound refused at every endpoint that it judges', () => {
    expect(found.endpoints.flatMap(({ controls }) => controls.taken)).toEqual([])
    const judged = found.endpoints.filter(({ rail, operation }) =>
      rail === 'paypal' ? hasPaypalDocuments && operation !== 'token' : true,
    )
    for (const { operation, controls } of judged) {
      expect([operation, controls.refused >= 3]).toEqual([operation, true])
    }
  })

  it('names lines that ask for something', () => {
    for (const { places } of found.endpoints) {
      for (const place of places) {
        const [path = '', line = ''] = place.split(':')
        expect([place, read(path).split('\n')[Number(line) - 1] ?? '']).toEqual([
          place,
          expect.stringMatching(/rq\.|api\.|call\(|transport\(/),
        ])
      }
    }
  })

  it.skipIf(!hasPaypalDocuments)('judges PayPal’s by PayPal’s documents, all but its token', () => {
    const paypal = found.endpoints.filter(({ rail }) => rail === 'paypal')
    const others = paypal.filter(({ judged }) => judged !== 'valid')
    expect(others.map(({ path }) => path)).toEqual(['/v1/oauth2/token'])
  })

  it('shows a survey that is not sound as one', () => {
    const [first] = found.endpoints
    if (first === undefined) throw new Error('expected an endpoint')
    const taken = { ...first, controls: { refused: 1, taken: ['no amount'] } }
    const invalid = { ...first, judged: 'invalid' as const }
    for (const endpoint of [taken, invalid]) {
      expect(isSound({ ...found, endpoints: [endpoint] })).toBe(false)
    }
    expect(isSound({ ...found, notReached: ['runtime/rails/paypal/requests.ts:1 /v1/x'] })).toBe(
      false,
    )
    expect(isSound({ ...found, problems: ['paypal: pay: failed'] })).toBe(false)
  })
})
