/**
 * As much of the protobuf wire format as a Biscuit uses: varints and length-prefixed bytes. Bytes in, values out;
 * whatever does not read exactly to its end is an error, so nothing can hide behind a lenient reader.
 */

/** The bytes are not the protobuf that was expected. */
export class WireError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'WireError'
  }
}

/** Of the eighth byte: seven bits each, and 2^53 ends within it. */
const TOP_SCALE = 128 ** 7

/** Reads fields one after another from one message. Sub-messages are views, not copies. */
export class Reader {
  readonly bytes: Uint8Array
  at = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  get done(): boolean {
    return this.at === this.bytes.length
  }

  /** The next field's number and wire type as one tag: `number * 8 + type`. */
  tag(): number {
    return this.varint()
  }

  /** A varint below 2^53; nothing that a token of ours holds is larger. */
  varint(): number {
    let value = 0
    for (let scale = 1; scale <= TOP_SCALE; scale *= 128) {
      const byte = this.bytes[this.at++]
      if (byte === undefined) throw new WireError('expected a varint')
      value += (byte & 127) * scale
      if (byte < 128) {
        if (value > Number.MAX_SAFE_INTEGER) break
        if (byte === 0 && scale > 1) throw new WireError('expected a varint without padding')
        return value
      }
    }
    throw new WireError('expected a varint below 2^53')
  }

  chunk(): Uint8Array {
    const length = this.varint()
    const end = this.at + length
    if (end > this.bytes.length) throw new WireError('expected more bytes')
    const chunk = this.bytes.subarray(this.at, end)
    this.at = end
    return chunk
  }

  /** Takes the next field if it has this tag. */
  take(tag: number): boolean {
    const start = this.at
    if (!this.done && this.tag() === tag) return true
    this.at = start
    return false
  }

  expect(tag: number): void {
    if (!this.take(tag)) throw new WireError('expected another field')
  }

  end(): void {
    if (!this.done) throw new WireError('expected the end of a message')
  }
}

export const varintTag = (field: number): number => field * 8
export const chunkTag = (field: number): number => field * 8 + 2

/** Writes one message, growing as needed. */
export class Writer {
  buffer = Buffer.allocUnsafe(1024)
  at = 0

  room(more: number): void {
    if (this.at + more <= this.buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.buffer.length * 2, this.at + more))
    this.buffer.copy(larger, 0, 0, this.at)
    this.buffer = larger
  }

  varint(value: number): void {
    this.room(8)
    let rest = value
    while (rest >= 128) {
      this.buffer[this.at++] = (rest % 128) | 128
      rest = Math.floor(rest / 128)
    }
    this.buffer[this.at++] = rest
  }

  uint(field: number, value: number): void {
    this.varint(varintTag(field))
    this.varint(value)
  }

  chunk(field: number, bytes: Uint8Array): void {
    this.varint(chunkTag(field))
    this.varint(bytes.length)
    this.raw(bytes)
  }

  raw(bytes: Uint8Array): void {
    this.room(bytes.length)
    this.buffer.set(bytes, this.at)
    this.at += bytes.length
  }

  /** A sub-message; its length is one byte for most, and the content moves up when it needs more. */
  message(field: number, write: () => void): void {
    this.varint(chunkTag(field))
    this.room(1)
    const start = ++this.at
    write()
    const length = this.at - start
    if (length < 128) {
      this.buffer[start - 1] = length
      return
    }
    const extra = length < 16_384 ? 1 : 2
    if (length >= 2_097_152) throw new WireError('expected a shorter message')
    this.room(extra)
    this.buffer.copyWithin(start + extra, start, this.at)
    this.at = start - 1
    this.varint(length)
    this.at += length
  }

  finish(): Buffer {
    return this.buffer.subarray(0, this.at)
  }
}
