import { beforeAll, describe, expect, it } from 'vitest'
import { verifyExport } from '../../runtime/audit/verify.ts'
import { type Body, bodyOf, forge, type Written, writtenLog } from './log.ts'

let log: Written
beforeAll(async () => {
  log = await writtenLog()
})

const WITH_A_TRAIL = ['decided', 'held', 'reserved'] as const

const ofType = (type: string) => (body: Body) =>
  body.type === type && body.data.provenance !== undefined

const lineOf = (type: string) => {
  const line = log.lines.find((each) => ofType(type)(bodyOf(each)))
  if (line === undefined) throw new Error(`no ${type} with a trail`)
  return line
}

describe.each(WITH_A_TRAIL)('where the values of what was %s came from', (type) => {
  it('stands in the log, and the log verifies', () => {
    expect(bodyOf(lineOf(type)).data.provenance).toMatchObject({
      payee: [{ source: 'mandate' }, { source: 'operator' }],
      amount: [{ source: 'quote', tool: 'POST /quotes', node: 'nd_looker' }],
    })
    expect(verifyExport(log.lines, log.options).ok).toBe(true)
  })

  it('cannot be edited: the hash of its event is another', () => {
    const line = lineOf(type)
    const { stream, seq } = bodyOf(line)
    const edited = line.replaceAll('\\"source\\":\\"quote\\"', '\\"source\\":\\"mandate\\"')
    expect(edited).not.toBe(line)
    const lines = log.lines.map((each) => (each === line ? edited : each))
    expect(verifyExport(lines, log.options).broken).toMatchObject({ stream, seq })
  })

  it('cannot be written anew with all hashes after it: the seal is over another head', () => {
    const forged = forge(
      log.lines,
      ({ data }) => {
        data.provenance = { ...Object(data.provenance), amount: [{ source: 'mandate' }] }
      },
      ofType(type),
    )
    expect(verifyExport(forged, log.options).ok).toBe(false)
  })
})
