/** Commands about the log and receipts. */
import { Command } from 'commander'
import type { Io } from '../io.ts'

export const auditCommand = (_io: Io): Command => new Command('audit')
export const receiptCommand = (_io: Io): Command => new Command('receipt')
