/** What one look may do: the looker's model proposes, and this is where it ends. Each bound with its reason. */
export const LOOK = {
  /** Two searches, a read after each, an answer, and one to spare: each is a model's call, which takes seconds and money. */
  steps: 6,
  /** Of one step, carried out one after the other: more is a list that nobody thought about. */
  actions: 4,
  /** Steps in a row that changed nothing: whoever asks for the same again gets the same again. */
  idleSteps: 3,
  /** Each is a call of every merchant. */
  searches: 8,
  /** Each is a call of one merchant, and a page of text in every later step. */
  reads: 6,
  /** Items of an answer: as many as quotes may be asked for. */
  picks: 8,
  /** Each makes a merchant sign; some fail. */
  quotes: 8,
  /** Quotes brought home: a chooser has use for a few. */
  offers: 4,
  /** Items that are shown; later ones are not. */
  items: 60,
  /** Characters of a description in the list. */
  listingChars: 600,
  /** Of one that was read whole. */
  pageChars: 4_000,
  /** Of all strangers' words in one step, some 12,000 tokens; of what is over, descriptions go and titles stay. */
  wordsChars: 48_000,
  /** Characters of a reason. It is asked for because a model that has to say why ranks better, and then dropped. */
  reasonChars: 1_000,
} as const
