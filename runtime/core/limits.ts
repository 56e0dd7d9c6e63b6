/** Every limit of the product, each with its reason. Tests stand at the limit and one past it. */
export const LIMITS = {
  /** A Biscuit of depth 8 with 32 payees a block is 20,888 characters; twice that, in Node's raised header limit. */
  tokenChars: 48 * 1024,
  /** 300 blocks cost 290 ms to verify; a tree deeper than this has no use that we know of. */
  tokenBlocks: 17,
  /** Node's header limit, raised so that the largest token fits beside a proof. */
  headerBytes: 64 * 1024,
  /** A quote of 64 lines with long titles fits twice over. */
  bodyBytes: 64 * 1024,
  /** One message of MCP over stdio: the largest quote and what is around it. Over HTTP a body's own limit holds. */
  mcpLineBytes: 96 * 1024,
  /** Requests of one MCP caller that are answered at once: a model's turn has a few. */
  mcpInFlight: 32,
  /** Characters of a JSON-RPC id: clients count, or write a UUID. */
  mcpIdChars: 128,
  /** A receipt with the longest ids and references is some 2,000 characters. */
  receiptChars: 8 * 1024,
  /** Receipts that nobody knows, asked about in one minute; one that is known, asked about by whoever has it. */
  receiptAsks: 60,
  /** Deep nesting is only ever an attack: our deepest document has six levels. */
  jsonDepth: 16,
  /** Payees of one token: the measured size of depth 8 rests on it. */
  payees: 32,
  /** Lines of one quote. */
  quoteLines: 64,
  /** Pieces of one line: more is a mistake in units, and with it a line's sum might not be a safe integer. */
  quantity: 1_000_000,
  /** Characters of a task in words. */
  taskChars: 8_000,
  /** Characters of the address where a payer agrees: a rail's own are below 300. */
  approveUrlChars: 2_000,
  /** Characters of an operator's reference to evidence. */
  evidenceChars: 500,
  /** Characters of any title that a merchant or planner gives. */
  titleChars: 200,
  /** Characters of a listing's description that are kept; the rest is cut. */
  descriptionChars: 1_000,
  /** Of one product that is read by itself: a page of text, and past it nobody describes a thing for sale. */
  productChars: 8_000,
  /** Mandate limits: the most a principal may ask for. */
  depth: 16,
  fanOut: 256,
  nodes: 10_000,
  /** A mandate of more than ten years is a mistake in units. */
  mandateSeconds: 10 * 366 * 24 * 3600,
  /** A DPoP proof is fresh for this long (RFC 9449 section 11.1 asks for seconds to minutes). */
  proofAgeSeconds: 60,
  /** Clock difference allowed between a holder and the gateway. */
  skewSeconds: 2,
  /** A forward step of the wall clock that is still believed: a laptop's correction, not a window opened again. */
  clockStepMs: 60_000,
  /** Seen proofs kept; full means refuse, never evict. */
  seenProofs: 100_000,
  /** How long a proof is kept after its expiry: what was fresh when it came is recorded a little later. */
  proofKeptSeconds: 60,
  /** A rail call may begin only this long after its submit was recorded. */
  submitStartMs: 5_000,
  /** One gateway asks a rail about a payment for this long before another may: twice the longest call and more. */
  leaseSeconds: 30,
  /** A payment that no rail has a word on for this long needs a person. */
  overdueMs: 15 * 60 * 1000,
  /** Reversals and refunds of one payment; more is a rail that makes ids up. */
  reversals: 100,
  /** Refunds asked for of one payment, failed ones included: each is kept in its record. */
  refunds: 100,
  /** An authorisation ends by itself before that: cards' and PayPal's after 29 days at most. */
  authorisationSeconds: 31 * 24 * 3600,
  /** Settled payments that one round of reconciling asks about: a slow rail holds up nothing that waits. */
  watchedPayments: 10,
  /** Money that has not come back by then never does: cards' disputes, the slowest, take four months. */
  watchSeconds: 180 * 24 * 3600,
  /** A held payment waits this long for a person. */
  holdSeconds: 15 * 60,
  /** Open holds of one run: past it a hold becomes a refusal, so that nobody is tired into approving. */
  openHolds: 50,
  /** A 401 is sent no sooner after its request. */
  refusalMs: 100,
  /** Decisions that one leaf may ask for: each is an event of its log for ever, and may cost a monitor a question. */
  decisions: 100,
  /** One call to the token engine, queueing included. */
  engineMs: 2_000,
  /** Requests waiting for a token worker; past it the caller gets 503. */
  engineQueue: 256,
  /** Of these, those of one holder: a search of 32 payees twice over. */
  engineQueueOfOne: 64,
  /** Holders whose calls go before those of unknown ones. */
  knownHolders: 10_000,
  /** Verifications before a worker is replaced, whatever it looks like. */
  engineRecycleCount: 10_000,
  /** Worker memory before it is replaced; a worker that works takes some 20 MiB of it and no more with time. */
  engineRecycleBytes: 64 * 1024 * 1024,
  /** One question to a model, with every try of it: a long plan takes half of that. */
  modelMs: 60_000,
  /** Tries of one question that a provider had no time for. */
  modelTries: 3,
  /** The pause before the second try; each later one is twice as long. */
  modelBackOffMs: 500,
  /** The longest pause that a provider may ask for; one that asks for more is asked again by whoever wants to. */
  modelPauseMs: 10_000,
  /** Characters of one question, its schema included: the longest that we put is half of it. */
  modelPromptChars: 160_000,
  /** One answer of a provider: the longest plan is a quarter of it. */
  modelAnswerBytes: 512 * 1024,
  /** Tokens of one answer, thoughts included. */
  modelAnswerTokens: 16_384,
  /** The same where a provider counts what may be written as used: its smallest account has 8,000 a minute. */
  modelReservedTokens: 4_096,
  /** Tokens that a model may think, where that has a number. */
  modelThoughtTokens: 2_048,
  /** One call to a monitor. */
  monitorMs: 5_000,
  /** What a monitor is told of one payment: the longest task, with as many lines as a quote has, is some 12,000 characters. */
  monitorChars: 16 * 1024,
  /** Runs whose questions to a monitor are counted at once; the one that was asked about longest ago goes. */
  monitorRuns: 10_000,
  /** One call to a rail. */
  railMs: 10_000,
  /** One message of a rail: the largest that one sends is a tenth of it. */
  webhookBytes: 256 * 1024,
  /** Verifying one: rails wait for five seconds, and send again what was not answered. */
  webhookMs: 4_000,
  /** Messages that are verified at once: a rail sends what was turned away again. */
  webhooksAtOnce: 16,
  /** Parked messages that one round takes up. */
  messagesPerRound: 50,
  /** A parked message is taken up again after this long, then after twice as long each time, up to the most. */
  messageRetrySeconds: 5,
  messageRetryMostSeconds: 600,
  /** A message that is parked for this long needs a person. */
  messageStuckSeconds: 24 * 3600,
  /** Pages of a rail's list that one comparison reads; what is left is read by the next. */
  statementPages: 1_000,
  /** How far a rail's clock, and its list, may be from ours. */
  statementSkewSeconds: 3600,
  /** Lines of one comparison that are told one by one; its sums are over all. */
  statementLines: 200,
  /** One call to a merchant. */
  merchantMs: 5_000,
  /** One answer of a merchant: 50 items with the longest texts, four bytes a character. */
  merchantBytes: 256 * 1024,
  /** Items of one search answer. */
  searchItems: 50,
  /** Entries of one page of a list. */
  pageItems: 200,
  /** One answer to a client: a search of 50 items with the longest texts, escaped, is less than half of it. */
  answerBytes: 1024 * 1024,
  /** A run's tree as a client reads it: 10,000 nodes with the longest lists of payees. */
  treeBytes: 48 * 1024 * 1024,
  /** Payments that `GET /node` lists, the latest. */
  ownPayments: 50,
  /** Heads that one checkpoint lists, some 100 bytes each; of more open streams it lists the newest. */
  checkpointHeads: 4_096,
  /** One operator session, idle. */
  sessionIdleSeconds: 30 * 60,
  /** A one-time login code. */
  loginCodeSeconds: 10 * 60,
  /** SSE: events queued for one reader before it is told `bye`. */
  streamQueue: 1_000,
  /** SSE: heartbeat. */
  heartbeatMs: 15_000,
  /** SSE: a stream is ended by us before any proxy does. */
  streamAgeMs: 50 * 60 * 1000,
} as const
