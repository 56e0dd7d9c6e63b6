/** The double's documents, each with its past, so that a read-only transaction sees one instant. */
import { Refusal, refuse, STATUS } from './refusal.ts'
import { type Fields, microsOf, parsePath, type Time, valueAt, withValue } from './values.ts'

export interface Document {
  readonly name: string
  readonly fields: Fields
  readonly createTime: bigint
  readonly updateTime: bigint
}

export interface WireWrite {
  readonly update?: { readonly name: string; readonly fields?: Fields }
  readonly delete?: string
  readonly transform?: unknown
  readonly updateMask?: { readonly fieldPaths?: readonly string[] }
  readonly updateTransforms?: readonly unknown[]
  readonly currentDocument?: { readonly exists?: boolean; readonly updateTime?: Time }
}

export const nameOf = (write: WireWrite): string =>
  write.update?.name ?? write.delete ?? refuse(STATUS.UNIMPLEMENTED, 'no transforms in the double')

/** The collection that a document lies in. */
export const collectionOf = (name: string): string => name.slice(0, name.lastIndexOf('/'))

interface Version {
  readonly at: bigint
  readonly document: Document | undefined
}

const DOCUMENT_BYTES = 1_048_576

export class Documents {
  /** By collection, then by name. */
  readonly #collections = new Map<string, Map<string, Version[]>>()
  #now = 0n

  /** Microseconds, strictly increasing. */
  tick(): bigint {
    const wall = BigInt(Date.now()) * 1_000n
    this.#now = wall > this.#now ? wall : this.#now + 1n
    return this.#now
  }

  get(name: string, at?: bigint): Document | undefined {
    const versions = this.#collections.get(collectionOf(name))?.get(name) ?? []
    return versions.findLast((version) => at === undefined || version.at <= at)?.document
  }

  /** Every document of a collection as of an instant, or now. */
  *all(collection: string, at?: bigint): Iterable<Document> {
    for (const name of this.#collections.get(collection)?.keys() ?? []) {
      const document = this.get(name, at)
      if (document !== undefined) yield document
    }
  }

  /** Every document of every collection now. */
  *everything(): Iterable<Document> {
    for (const collection of this.#collections.keys()) yield* this.all(collection)
  }

  /** What the writes leave, document by document; throws what a failed precondition says. Nothing is installed. */
  stage(writes: readonly WireWrite[], at: bigint): Map<string, Document | undefined> {
    const staged = new Map<string, Document | undefined>()
    for (const write of writes) {
      const name = nameOf(write)
      checkName(name)
      const before = staged.has(name) ? staged.get(name) : this.get(name)
      checkPrecondition(write, before)
      staged.set(name, write.delete === undefined ? updated(write, before, at) : undefined)
    }
    return staged
  }

  install(staged: ReadonlyMap<string, Document | undefined>, at: bigint): void {
    for (const [name, document] of staged) {
      const collection = collectionOf(name)
      const names = this.#collections.get(collection) ?? new Map<string, Version[]>()
      this.#collections.set(collection, names)
      names.set(name, [...(names.get(name) ?? []), { at, document }])
    }
  }
}

function checkName(name: string): void {
  const path = name.split('/documents/')[1] ?? ''
  const segments = path.split('/')
  const isWrong = segments.some(
    (part) => part === '' || part === '.' || part === '..' || /^__.*__$/.test(part),
  )
  if (
    isWrong ||
    segments.length % 2 === 1 ||
    segments.some((part) => Buffer.byteLength(part) > 1_500)
  ) {
    refuse(STATUS.INVALID_ARGUMENT, 'a document name is not valid')
  }
}

function checkPrecondition({ currentDocument }: WireWrite, before: Document | undefined): void {
  const { exists, updateTime } = currentDocument ?? {}
  if (exists === false && before !== undefined) {
    throw new Refusal(STATUS.ALREADY_EXISTS, `Document already exists: ${before.name}`)
  }
  if (exists === true && before === undefined) {
    throw new Refusal(STATUS.NOT_FOUND, 'No document to update')
  }
  if (updateTime !== undefined && before?.updateTime !== microsOf(updateTime)) {
    refuse(
      STATUS.FAILED_PRECONDITION,
      'the stored version does not match the required base version',
    )
  }
}

function updated(write: WireWrite, before: Document | undefined, at: bigint): Document {
  if (write.transform !== undefined || (write.updateTransforms ?? []).length > 0) {
    refuse(STATUS.UNIMPLEMENTED, 'no transforms in the double: nothing may be counted by the store')
  }
  const name = nameOf(write)
  const given = write.update?.fields ?? {}
  const fields = write.updateMask
    ? (write.updateMask.fieldPaths ?? [])
        .map(parsePath)
        .reduce<Fields>(
          (kept, path) => withValue(kept, path, valueAt(given, path)),
          before?.fields ?? {},
        )
    : given
  const size = Buffer.byteLength(JSON.stringify(fields))
  if (size > DOCUMENT_BYTES) refuse(STATUS.INVALID_ARGUMENT, 'a document exceeds the largest size')
  // A write that changes nothing leaves the time of the last change as it was.
  const isSame = before !== undefined && JSON.stringify(before.fields) === JSON.stringify(fields)
  return {
    name,
    fields,
    createTime: before?.createTime ?? at,
    updateTime: isSame ? before.updateTime : at,
  }
}
