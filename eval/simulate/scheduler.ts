/** Virtual time and the one queue that everything in a simulated world waits in; the order follows from the seed alone. */
import { createHash } from 'node:crypto'

/** Numbers that follow from a seed (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = (seed * 2_654_435_761 + 1) >>> 0
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  chance(p: number): boolean {
    return this.next() < p
  }

  /** A whole number of at least `from` and less than `to`. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from))
  }

  pick<T>(list: readonly T[]): T | undefined {
    return list[this.between(0, list.length)]
  }
}

interface Task {
  readonly atMs: number
  readonly order: number
  readonly act: () => unknown
  isOff: boolean
}

const isBefore = (a: Task, b: Task): boolean =>
  a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)

/** Tasks of one turn of the event loop. */
const AT_ONCE = 50

export class Scheduler {
  nowMs: number
  readonly #heap: Task[] = []
  readonly #digest = createHash('sha256')
  readonly #keep: number
  #made = 0
  #unread = ''
  readonly #lines: string[] = []

  constructor(startMs: number, keepLines: number) {
    this.nowMs = startMs
    this.#keep = keepLines
  }

  /** Acts once, after `ms` of virtual time; returns how to call it off. */
  after(ms: number, act: () => unknown): () => void {
    const task: Task = { atMs: this.nowMs + ms, order: this.#made, act, isOff: false }
    this.#made += 1
    this.#push(task)
    return () => {
      task.isOff = true
    }
  }

  /** Until `isOver`, or nothing is left, or virtual time is up. Between two tasks every microtask has run. */
  run(isOver: () => boolean, untilMs: number): Promise<void> {
    return new Promise((resolve) => {
      let isDone = false
      const step = () => {
        if (isDone) return
        const task = isOver() ? undefined : this.#next(untilMs)
        if (task === undefined) {
          isDone = true
          resolve()
          return
        }
        this.nowMs = task.atMs
        task.act()
        setImmediate(step)
      }
      // Microtasks run between two immediates, and a turn of the event loop runs all that are waiting.
      for (let i = 0; i < AT_ONCE; i += 1) setImmediate(step)
    })
  }

  #next(untilMs: number): Task | undefined {
    for (;;) {
      // What is due later stays for whoever runs on from here.
      if ((this.#heap[0]?.atMs ?? Infinity) > untilMs) return undefined
      const task = this.#pop()
      if (task?.isOff !== true) return task
    }
  }

  trace(line: string): void {
    const text = `${this.nowMs} ${line}`
    this.#unread += `${text}\n`
    if (this.#unread.length > 4_096) this.#digestUnread()
    this.#lines.push(text)
    if (this.#lines.length > this.#keep * 2) this.#lines.splice(0, this.#keep)
  }

  lastLines(): readonly string[] {
    return this.#lines.slice(-this.#keep)
  }

  digest(): string {
    this.#digestUnread()
    return this.#digest.copy().digest('hex').slice(0, 32)
  }

  #digestUnread(): void {
    this.#digest.update(this.#unread)
    this.#unread = ''
  }

  #push(task: Task): void {
    const heap = this.#heap
    let i = heap.length
    heap.push(task)
    while (i > 0) {
      const up = (i - 1) >> 1
      const above = heap[up]
      if (above === undefined || !isBefore(task, above)) break
      heap[i] = above
      i = up
    }
    heap[i] = task
  }

  #pop(): Task | undefined {
    const heap = this.#heap
    const [top] = heap
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return top
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      const [left, right] = [heap[child], heap[child + 1]]
      if (left === undefined) break
      if (right !== undefined && isBefore(right, left)) child += 1
      const least = heap[child]
      if (least === undefined || !isBefore(least, last)) break
      heap[i] = least
      i = child
    }
    heap[i] = last
    return top
  }
}
