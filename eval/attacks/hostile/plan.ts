/** What one seed draws: which rail, which payments, what each of them meets, and how messages come. */
import { Random } from '../../simulate/scheduler.ts'

export const HOSTILE_RAILS = ['razorpay', 'paypal'] as const
export type HostileRailName = (typeof HOSTILE_RAILS)[number]

/** Names of both stand-ins' own scripts: what the request that moves the money meets. */
const FAULTS = [
  'none',
  'none',
  'pending',
  'decline',
  'hang',
  'hang',
  'resetBefore',
  'resetAfter',
  'html502Before',
  'html502After',
  'html502After',
  'html200After',
  'empty500After',
  'redirect307',
  'rateLimit',
  'leakSecret',
] as const

/** What a question about a payment meets. */
const DEAF = ['resetBefore', 'html502Before', 'html200After', 'rateLimit', 'empty500After'] as const

export type Fault = (typeof FAULTS)[number] | (typeof DEAF)[number]

export interface Step {
  /** Minor units. */
  readonly amount: number
  readonly fault: (typeof FAULTS)[number]
  /** The agent asks again, as often. */
  readonly retries: number
  /** The rail's messages arrive before its answer does. */
  readonly isHeardEarly: boolean
  /** The gateway is gone while the rail is being asked, or after it was. */
  readonly restart: 'none' | 'during' | 'after'
  /** If it settles, it comes back later. */
  readonly comesBack: boolean
}

export interface Plan {
  readonly seed: number
  readonly rail: HostileRailName
  readonly steps: readonly Step[]
  /** What the first questions of the reconciler meet. */
  readonly deaf: readonly (typeof DEAF)[number][]
  /** How often each message comes. */
  readonly copies: number
  readonly isShuffled: boolean
  /** Messages are kept back until everything else is over. */
  readonly isLate: boolean
}

export function planOf(seed: number): Plan {
  const random = new Random(seed)
  const steps = Array.from({ length: random.between(3, 6) }, (): Step => {
    const fault = random.pick(FAULTS) ?? 'none'
    const restart = random.chance(0.15) ? 'after' : 'none'
    return {
      amount: random.between(10_001, 99_999),
      fault,
      retries: random.between(0, 3),
      isHeardEarly: fault === 'hang' && random.chance(0.5),
      restart: fault === 'hang' && random.chance(0.4) ? 'during' : restart,
      comesBack: random.chance(0.35),
    }
  })
  return {
    seed,
    rail: HOSTILE_RAILS[seed % HOSTILE_RAILS.length] ?? 'razorpay',
    steps,
    deaf: Array.from({ length: random.between(0, 4) }, () => random.pick(DEAF) ?? 'rateLimit'),
    copies: random.between(1, 4),
    isShuffled: random.chance(0.5),
    isLate: random.chance(0.3),
  }
}
