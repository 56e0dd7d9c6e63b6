/** The page of a receipt in a real browser, as a real gateway serves it: no script, its own look, on a phone and on paper. */
import { AxeBuilder } from '@axe-core/playwright'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  signed,
  splitLeaf,
  startGateway,
  startOutsideRun,
  type TestGateway,
} from '../http/gateway.ts'
import { hasChromium, launch, watchedPage } from './browser.ts'

const NAME = `<img src=x onerror=alert(1)> ${'Sammlung'.repeat(12)} & \u202eSöhne`

let gateway: TestGateway
let browser: Browser
let page: Page
let wrong: string[]
let paymentId: string

beforeAll(async () => {
  if (!hasChromium) return
  const payees = [{ id: 'shop', name: NAME, accounts: { simulated: 'IN-0042-7781-9925' } }]
  gateway = await startGateway({ config: { payees } })
  const quote = gateway.quote()
  const leaf = await splitLeaf(gateway, await startOutsideRun(gateway), 0, quote)
  const paid = await signed(gateway, leaf, 'POST', '/payments', { quote })
  paymentId = ((await paid.json()) as { paymentId: string }).paymentId
  browser = await launch()
  ;({ page, wrong } = await watchedPage(browser))
  page.setDefaultTimeout(60_000)
}, 120_000)
afterAll(async () => {
  await browser?.close()
  await gateway?.close()
})

describe.skipIf(!hasChromium)('the page of a receipt', () => {
  it.each([
    ['light', 1300],
    ['dark', 1300],
    ['light', 320],
    ['dark', 320],
  ] as const)(
    'reads well in %s on %i pixels, by its own style alone',
    async (scheme, width) => {
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme: scheme, media: 'screen' })
      await page.goto(`${gateway.url}/receipts/${paymentId}`)
      expect(await page.locator('.amount').textContent()).toBe('INR 25.00')
      expect(await page.locator('.whom img').count()).toBe(0)
      expect(await page.locator('.whom').textContent()).toContain('<img src=x onerror=alert(1)>')
      // Only the style that the policy admits by its hash gives the amount its size.
      const size = await page.evaluate<string>(
        `getComputedStyle(document.querySelector('.amount')).fontSize`,
      )
      expect(size).toBe('33.6px')
      expect(
        await page.evaluate<boolean>('document.documentElement.scrollWidth <= innerWidth'),
      ).toBe(true)
      const { violations } = await new AxeBuilder({ page }).analyze()
      expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([])
      expect(wrong).toEqual([])
    },
    120_000,
  )

  it('gives the signed text as a file that is named as the statement names it', async () => {
    await page.goto(`${gateway.url}/receipts/${paymentId}`)
    const shortId = await page.locator('dd').first().textContent()
    const waiting = page.waitForEvent('download')
    await page.getByRole('link', { name: 'The signed receipt' }).click()
    expect((await waiting).suggestedFilename()).toBe(`${shortId}.jws`)
  }, 120_000)

  it('says no more of a receipt that there is not', async () => {
    const answer = await page.goto(`${gateway.url}/receipts/rcpt_none`)
    expect(answer?.status()).toBe(404)
    expect(await page.locator('main').textContent()).toContain('No receipt')
    expect(wrong).toEqual([])
  }, 120_000)
})
