/** The demonstration. */
import { Command } from 'commander'
import type { Io } from '../io.ts'

export const demoCommand = (_io: Io): Command => new Command('demo')
