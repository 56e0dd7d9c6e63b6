/**
 * Credentials: every one there is, where it may be used, and where its value comes from. This room resolves values for
 * exactly one host and environment, seals them in a file, and notices them in text that is about to leave. It may not
 * read the environment or a disk, and it never puts a value into a message. Whatever it is not sure of, it refuses.
 */

/** Where a credential is good. `live` moves real money and is only ever asked for by that word. */
export const ENVIRONMENTS = ['test', 'sandbox', 'live', 'loopback'] as const
export type CredentialEnvironment = (typeof ENVIRONMENTS)[number]

interface Form {
  readonly matches: RegExp
  /** What is expected, in words that hold nothing of a value. */
  readonly says: string
}

interface Binding {
  readonly host: string
  /** As the vendor documents it; printable characters where it documents nothing. */
  readonly form?: Form
}

interface CredentialSpec {
  /** One sentence for a person, also in `.env.example`. */
  readonly what: string
  /** Whose it is: a rail, a model, or the gateway's own. */
  readonly of: 'simulated' | 'razorpay' | 'paypal' | 'gemini' | 'groq' | 'headgate'
  /** The one host of each environment; none for what never leaves for a host as it is. */
  readonly bound: { readonly [environment in CredentialEnvironment]?: Binding }
}

const PRINTABLE: Form = { matches: /^[\x21-\x7e]{8,4096}$/, says: '8 or more printable characters' }
const LOOPBACK = '127.0.0.1'

const RAZORPAY = 'api.razorpay.com'
const razorpay = {
  test: { host: RAZORPAY },
  live: { host: RAZORPAY },
  loopback: { host: LOOPBACK },
}

/** Modes are told apart by this prefix, so a key says itself what it moves. */
const razorpayKey = (mode: 'test' | 'live'): Form => ({
  matches: new RegExp(`^rzp_${mode}_[A-Za-z0-9]{14}$`),
  says: `rzp_${mode}_ and 14 letters or digits`,
})
const paypal = {
  sandbox: { host: 'api-m.sandbox.paypal.com' },
  live: { host: 'api-m.paypal.com' },
  loopback: { host: LOOPBACK },
}

/** Each by the name of its variable. */
export const CATALOGUE = {
  HEADGATE_RAIL_KEY: {
    what: 'The key of the simulated rail, which moves play money.',
    of: 'simulated',
    bound: {
      loopback: {
        host: LOOPBACK,
        form: { matches: /^[\x21-\x7e]{20,200}$/, says: '20 to 200 printable characters' },
      },
    },
  },
  RAZORPAY_KEY_ID: {
    what: 'Razorpay’s key id; whether it is a test key or a live one stands in its prefix.',
    of: 'razorpay',
    bound: {
      test: { host: RAZORPAY, form: razorpayKey('test') },
      live: { host: RAZORPAY, form: razorpayKey('live') },
      loopback: { host: LOOPBACK, form: razorpayKey('test') },
    },
  },
  RAZORPAY_KEY_SECRET: {
    what: 'The secret of Razorpay’s key id.',
    of: 'razorpay',
    bound: razorpay,
  },
  RAZORPAY_WEBHOOK_SECRET: {
    what: 'What Razorpay signs its messages with, as it was chosen in the dashboard.',
    of: 'razorpay',
    bound: razorpay,
  },
  RAZORPAY_WEBHOOK_SECRET_PREVIOUS: {
    what: 'The one before it, for messages that were signed before it was changed; optional.',
    of: 'razorpay',
    bound: razorpay,
  },
  PAYPAL_CLIENT_ID: {
    what: 'PayPal’s client id, of a sandbox app or of a live one.',
    of: 'paypal',
    bound: paypal,
  },
  PAYPAL_CLIENT_SECRET: {
    what: 'The secret of PayPal’s client id.',
    of: 'paypal',
    bound: paypal,
  },
  PAYPAL_WEBHOOK_ID: {
    what: 'The id of the webhook at PayPal that its messages are verified with; optional.',
    of: 'paypal',
    bound: paypal,
  },
  PAYPAL_INSTRUMENT: {
    what: 'A payment token of PayPal’s vault that merchants are paid from without asking; optional.',
    of: 'paypal',
    bound: paypal,
  },
  GEMINI_API_KEY: {
    what: 'The key of Google’s Gemini API, for agents that use it.',
    of: 'gemini',
    bound: {
      live: { host: 'generativelanguage.googleapis.com' },
      loopback: { host: LOOPBACK },
    },
  },
  GROQ_API_KEY: {
    what: 'The key of Groq’s API, for agents that use it.',
    of: 'groq',
    bound: { live: { host: 'api.groq.com' }, loopback: { host: LOOPBACK } },
  },
  HEADGATE_OPERATOR_TOKEN: {
    what: 'For the command line: a named operator’s own token, in the place of the data folder’s.',
    of: 'headgate',
    bound: {},
  },
  HEADGATE_SECRETS: {
    what: 'What `headgate keys bundle` wrote: a gateway’s own keys, where there is no data folder.',
    of: 'headgate',
    bound: {},
  },
  HEADGATE_PASSPHRASE: {
    what: 'Opens the file that `headgate secrets init` wrote, where nobody is there to be asked.',
    of: 'headgate',
    bound: {},
  },
} as const satisfies Record<string, CredentialSpec>

export type CredentialName = keyof typeof CATALOGUE

export const CREDENTIAL_NAMES = Object.keys(CATALOGUE) as readonly CredentialName[]

/** The host and environment that something is asked for, or bound to. */
export interface Place {
  readonly host: string
  readonly environment: CredentialEnvironment
}

export const specOf = (name: CredentialName): CredentialSpec => CATALOGUE[name]

/** Names of what may be sealed in a file, because it is for a host. */
export const SEALABLE: readonly CredentialName[] = CREDENTIAL_NAMES.filter(
  (name) => Object.keys(specOf(name).bound).length > 0,
)

/** Where a credential may be used, in the catalogue's order. */
export const placesOf = (name: CredentialName): readonly Place[] =>
  ENVIRONMENTS.flatMap((environment) => {
    const host = specOf(name).bound[environment]?.host
    return host === undefined ? [] : [{ host, environment }]
  })

export const isSamePlace = (a: Place, b: Place): boolean =>
  a.host === b.host && a.environment === b.environment

/** For sentences: `api.razorpay.com (test)`. */
export const inWords = ({ host, environment }: Place): string => `${host} (${environment})`

/** Why a value cannot be this credential there, as a sentence without the value; undefined if it can. */
export function misfit(name: CredentialName, place: Place, value: string): string | undefined {
  const { bound } = specOf(name)
  const form = bound[place.environment]?.form ?? PRINTABLE
  if (form.matches.test(value)) return undefined
  const other = placesOf(name).find(({ environment }) => {
    return environment !== place.environment && bound[environment]?.form?.matches.test(value)
  })
  const meant = `expected ${form.says} for ${inWords(place)}`
  return other === undefined
    ? `${name} is wrong: ${meant}`
    : `${name} is bound to ${inWords(other)}, and ${inWords(place)} was asked for: ${meant}`
}
