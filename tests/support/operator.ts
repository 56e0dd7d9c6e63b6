/** An operator's calls to a running world, as tests make them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { World } from '../../runtime/cli/world.ts'
import { holdViewSchema, type RunDetail, runDetailSchema } from '../../runtime/core/wire.ts'

export interface OperatorCalls {
  get(path: string): Promise<unknown>
  post(path: string, body: unknown): Promise<unknown>
  text(path: string): Promise<string>
  run(id: string): Promise<RunDetail>
  /** Approves whatever waits for a person. */
  approveAll(): Promise<number>
  /** Reads the run until `isEnough`, approving on the way. */
  follow(id: string, isEnough: (detail: RunDetail) => boolean): Promise<RunDetail>
}

const holdsSchema = z.object({ holds: z.array(holdViewSchema) })

export function operatorOf({ gateway }: World): OperatorCalls {
  const call = async (path: string, init: RequestInit = {}): Promise<string> => {
    const answer = await fetch(`${gateway.url}${path}`, {
      ...init,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${gateway.operatorToken.reveal()}`,
        ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`)
    return text
  }
  const get = async (path: string): Promise<unknown> => JSON.parse(await call(path))
  const post = async (path: string, body: unknown): Promise<unknown> =>
    JSON.parse(await call(path, { method: 'POST', body: JSON.stringify(body) }))
  const run = async (id: string) => runDetailSchema.parse(await get(`/runs/${id}`))
  const approveAll = async () => {
    const open = holdsSchema
      .parse(await get('/holds'))
      .holds.filter(({ state }) => state === 'open')
    for (const { id, digest } of open) await post(`/holds/${id}/approve`, { digest })
    return open.length
  }
  const follow: OperatorCalls['follow'] = async (id, isEnough) => {
    for (;;) {
      const detail = await run(id)
      if (isEnough(detail)) return detail
      if (detail.run.heldCount > 0) await approveAll()
      await sleep(100)
    }
  }
  return { get, post, text: call, run, approveAll, follow }
}
