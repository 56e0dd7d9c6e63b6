/** One Chromium for a test file, with an empty profile; without Chromium the tests are skipped and say so. */
import { existsSync } from 'node:fs'
import { type Browser, chromium, type Page } from 'playwright-core'

const CHROMIUM = '/usr/bin/chromium'
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
]

export const hasChromium = existsSync(CHROMIUM)

if (!hasChromium) {
  process.stderr.write(`skipped: the console's browser tests need Chromium at ${CHROMIUM}\n`)
}

export const launch = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, args: FLAGS })

export interface Watched {
  readonly page: Page
  /** Everything that went wrong in the page: policy violations, uncaught errors, console errors. */
  readonly wrong: string[]
}

/** A page that notes what goes wrong in it. */
export async function watchedPage(browser: Browser): Promise<Watched> {
  const context = await browser.newContext({ locale: 'en-GB' })
  const page = await context.newPage()
  const wrong: string[] = []
  page.on('pageerror', (error) => wrong.push(`error: ${error.message}`))
  page.on('console', (message) => {
    const text = message.text()
    // A refused request is an answer that tests ask for; the browser logs it by itself.
    const requested = text.startsWith('Failed to load resource')
    if (message.type() === 'error' && !requested) wrong.push(text)
  })
  await page.addInitScript({
    content: `addEventListener('securitypolicyviolation', (event) =>
      console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI))`,
  })
  return { page, wrong }
}
