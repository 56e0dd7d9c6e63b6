/** Scripted faults: what the next requests of one operation meet. */

const FAULTS = [
  'decline',
  'resetBefore',
  'resetAfter',
  'hang',
  'html502Before',
  'html502After',
  'html200After',
  'empty500After',
  'redirect307',
  'rateLimit',
  'wrongAmount',
  'pending',
  'leakSecret',
  /** An earlier request with this key is still under way. */
  'inProgress409',
] as const

/** `After`: after the effect is booked; `hang` too answers nothing after it. */
export type Fault = (typeof FAULTS)[number]

export interface Rule {
  /** An operation's name such as `payout.create`, `capture`, `refund`; `*` is every one. */
  readonly on: string
  readonly fault: Fault
  readonly times?: number
}

export class Script {
  #rules: { readonly rule: Rule; left: number }[] = []

  add(rule: Rule): void {
    if (!FAULTS.includes(rule.fault) || typeof rule.on !== 'string') {
      throw new TypeError(`expected "on" and one fault of ${FAULTS.join(', ')}`)
    }
    this.#rules.push({ rule, left: rule.times ?? 1 })
  }

  /** The first rule that fits, used up by one. */
  take(operation: string): Fault | undefined {
    const entry = this.#rules.find(({ rule }) => rule.on === '*' || rule.on === operation)
    if (entry === undefined) return undefined
    entry.left -= 1
    if (entry.left <= 0) this.#rules = this.#rules.filter((other) => other !== entry)
    return entry.rule.fault
  }
}
