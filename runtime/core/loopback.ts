/** Names of this machine to itself, and addresses that only it can be reached at. */
import { z } from 'zod'

const NAMES = new Set(['127.0.0.1', '::1', 'localhost'])

/** Brackets of an IPv6 address in a URL do not matter. */
export const isLoopback = (hostname: string): boolean => NAMES.has(hostname.replace(/^\[|\]$/g, ''))

/** The origin of a stand-in. */
export const loopbackUrlSchema = z
  .string()
  .max(200)
  .refine((text) => {
    const url = URL.parse(text)
    return url?.protocol === 'http:' && url.origin === text && isLoopback(url.hostname)
  }, 'expected http://127.0.0.1:PORT of a stand-in, or nothing for the rail itself')
