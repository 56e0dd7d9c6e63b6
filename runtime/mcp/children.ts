/**
 * Children that a model asks for and never holds: token and key of each are made here and written into a folder, readable
 * by its owner alone, before the gateway hears of the child. A name stands for one child, so that asking again after a lost
 * answer finds the same one. The folder may hold what is not ours, the parent's own key even: nothing in it is ever written
 * over or removed but what this very call made.
 */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '../client/client.ts'
import { ClientError } from '../client/errors.ts'
import { type Holder, mintChild, readToken } from '../client/mint.ts'
import type { BlockClaims } from '../core/block.ts'
import { Rejected } from '../core/errors.ts'
import { allottedNodeIdOf, type RunId } from '../core/ids.ts'
import { rawPublicKey } from '../core/keys.ts'
import { LIMITS } from '../core/limits.ts'

export type ChildTerms = Pick<BlockClaims, 'kind' | 'ceiling' | 'payees' | 'expiresAtSeconds'> &
  Partial<Pick<BlockClaims, 'quote'>>

export interface Child {
  readonly claims: BlockClaims
  /** Names of files in the folder. */
  readonly tokenFile: string
  readonly keyFile: string
}

export interface Children {
  /** What the parent's own token says. */
  readonly parent: BlockClaims
  /**
   * The child of that name, made now or before. Throws Rejected where it would be wider than its parent, or where the name
   * is another child's; ClientError where the gateway refuses, and then nothing of it is kept.
   */
  make(name: string, terms: ChildTerms, nodes?: number): Promise<Child>
}

export interface ChildrenOptions {
  readonly client: Pick<Client, 'registerNode'>
  readonly run: RunId
  readonly token: string
  readonly holder: Holder
  /** Made if it is not there. */
  readonly folder: string
}

const PRIVATE = { mode: 0o600, flag: 'wx' } as const

export function childrenIn({ client, run, token, holder, folder }: ChildrenOptions): Children {
  const parent = lastOf(token)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const tokenPath = (name: string) => join(folder, `${name}.token`)
  const keyPath = (name: string) => join(folder, `${name}.jwk`)
  const draftPath = (name: string, holder: string) => join(folder, `${name}.${holder}.draft`)
  const register = (child: string, nodes: number | undefined) =>
    client.registerNode(run, child, nodes)

  /** The key waits under a name of its own until the token is there: a key alone would be anybody's. */
  const keep = (name: string, child: string, key: KeyObject) => {
    const draft = draftPath(name, rawPublicKey(key))
    writeFileSync(draft, `${JSON.stringify(key.export({ format: 'jwk' }))}\n`, PRIVATE)
    if (existsSync(keyPath(name))) {
      rmSync(draft)
      throw nameTaken()
    }
    writeFileSync(tokenPath(name), `${child}\n`, PRIVATE)
    giveKeyItsName(name, child)
  }
  /** Also what an end in between has left to do. */
  const giveKeyItsName = (name: string, child: string) => {
    const draft = draftPath(name, lastOf(child).holder)
    if (!existsSync(draft)) return
    // Unlike a rename it takes nobody's place.
    if (!existsSync(keyPath(name))) linkSync(draft, keyPath(name))
    rmSync(draft)
  }
  const forget = (name: string) => {
    for (const path of [tokenPath(name), keyPath(name)]) rmSync(path, { force: true })
  }
  const found = (name: string): string | undefined =>
    existsSync(tokenPath(name)) ? readFileSync(tokenPath(name), 'utf8').trim() : undefined

  /** The next place that is free; one that was used by an earlier life of this planner is passed over. */
  async function fresh(
    name: string,
    terms: ChildTerms,
    nodes: number | undefined,
  ): Promise<string> {
    for (let place = 0; place < LIMITS.fanOut; place += 1) {
      const { privateKey } = generateKeyPairSync('ed25519')
      const own = { node: allottedNodeIdOf(parent.node, place), holder: rawPublicKey(privateKey) }
      const claims = { currency: parent.currency, ...terms, ...own }
      const minted = mintChild(token, holder, claims).token
      keep(name, minted, privateKey)
      try {
        await register(minted, nodes)
        return minted
      } catch (error) {
        // After a lost answer it may have been recorded: its key stays, and the same name finds it again.
        if (!isRefusal(error)) throw error
        forget(name)
        if (error.code !== 'conflict') throw error
      }
    }
    throw new Rejected('insufficient', 'expected room for another child')
  }

  return {
    parent,
    make: async (name, terms, nodes) => {
      const before = found(name)
      if (before !== undefined && !isSame(lastOf(before), terms)) {
        throw nameTaken()
      }
      if (before !== undefined) {
        giveKeyItsName(name, before)
        await register(before, nodes)
      }
      const child = before ?? (await fresh(name, terms, nodes))
      return { claims: lastOf(child), tokenFile: `${name}.token`, keyFile: `${name}.jwk` }
    },
  }
}

const nameTaken = () =>
  new Rejected('name_taken', 'expected a name that no other child has', 'name')

const isRefusal = (error: unknown): error is ClientError =>
  error instanceof ClientError && error.status >= 400 && error.status < 500

function lastOf(token: string): BlockClaims {
  const claims = readToken(token).at(-1)
  if (claims === undefined) throw new Rejected('token_invalid', 'expected a token', 'token')
  return claims
}

const isSame = (claims: BlockClaims, terms: ChildTerms): boolean =>
  claims.kind === terms.kind &&
  claims.ceiling === terms.ceiling &&
  claims.expiresAtSeconds === terms.expiresAtSeconds &&
  claims.quote === terms.quote &&
  claims.payees.join() === terms.payees.join()
