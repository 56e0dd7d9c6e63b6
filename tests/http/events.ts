/** A client of the event stream that hands events over one by one. */
export interface Event {
  readonly id?: string
  readonly event: string
  readonly data: Record<string, unknown>
}

export interface EventClient {
  readonly status: number
  readonly headers: Headers
  /** The next event of one of these names, passing over the others; undefined when the stream has ended. */
  next(...names: string[]): Promise<Event | undefined>
  close(): void
}

export async function openEvents(
  url: string,
  headers: Record<string, string>,
): Promise<EventClient> {
  const controller = new AbortController()
  const answer = await fetch(url, { headers, signal: controller.signal })
  const events = parse(answer)
  return {
    status: answer.status,
    headers: answer.headers,
    next: async (...names) => {
      for (;;) {
        const { value, done } = await events.next()
        if (done) return undefined
        if (names.includes(value.event)) return value
      }
    },
    close: () => controller.abort(),
  }
}

async function* parse(answer: Response): AsyncGenerator<Event, void> {
  let rest = ''
  const decoder = new TextDecoder()
  try {
    for await (const chunk of answer.body ?? []) {
      rest += decoder.decode(chunk, { stream: true })
      const blocks = rest.split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const fields = new Map(
          block.split('\n').map((line) => {
            const at = line.indexOf(': ')
            return [line.slice(0, at), line.slice(at + 2)] as const
          }),
        )
        const [id, event] = [fields.get('id'), fields.get('event')]
        if (event === undefined) continue
        const data = JSON.parse(fields.get('data') ?? '{}') as Record<string, unknown>
        yield { ...(id === undefined ? {} : { id }), event, data }
      }
    }
  } catch {
    // The test closed it.
  }
}
