import { AxeBuilder } from '@axe-core/playwright'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { minor } from '../../runtime/core/money.ts'
import { HOSTILE, hold, nodes, run } from '../support/console-data.ts'
import { CODE, type ConsoleStub, startConsoleStub } from '../support/console-stub.ts'
import { hasChromium, launch, watchedPage } from './browser.ts'

const RUN = '/runs/run_stationery'

/** A browser beside other tests on two cores is slow; nothing here measures time. */
const PATIENT = { timeout: 120_000 }

let browser: Browser
let page: Page
let wrong: string[]
let stub: ConsoleStub

/** Faults that axe calls serious or worse; of all rules, or of those named. */
const serious = async (rules?: string[]) => {
  const axe = new AxeBuilder({ page }).options({ resultTypes: ['violations'] })
  const { violations } = await (rules === undefined ? axe : axe.withRules(rules)).analyze()
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes: where }) => `${id}: ${where.map((each) => each.html).join(' | ')}`)
}

interface Place {
  readonly focused: string | null
  readonly chosen: string | null
  readonly hash: string
  readonly rows: number
}

const selected = () =>
  page.evaluate<Place>(`({
    focused: document.activeElement?.getAttribute('data-node') ?? null,
    chosen: document.querySelector('[aria-selected="true"]')?.getAttribute('data-node') ?? null,
    hash: location.hash,
    rows: document.querySelectorAll('.tree-body [role="row"]').length,
  })`)

const freshStub = () => startConsoleStub({ runs: [run()], nodes: nodes(), holds: [hold()] })

/** Opens an address of the console in the one page. */
async function open(path: string, colorScheme: 'light' | 'dark' = 'light', width = 1300) {
  await page.setViewportSize({ width, height: 900 })
  await page.emulateMedia({ colorScheme })
  await page.goto(stub.url + path)
  await page.locator('main h1').waitFor()
}

beforeAll(async () => {
  if (!hasChromium) return
  browser = await launch()
  ;({ page, wrong } = await watchedPage(browser))
  page.setDefaultTimeout(60_000)
}, PATIENT.timeout)
afterAll(() => browser?.close())

describe.skipIf(!hasChromium)('the keys of the tree', PATIENT, () => {
  beforeAll(async () => {
    stub = await freshStub()
    await open(RUN)
    await page.locator('.tree-body [tabindex="0"]').focus()
  })
  afterAll(async () => {
    await page.goto('about:blank')
    await stub.close()
  })

  it.each([
    [['Home', 'ArrowDown', 'ArrowDown'], 'nd_look1', 10],
    [['Home', 'j', 'j', 'k'], 'nd_paper', 10],
    [['End'], 'nd_leaf5', 10],
    [['Home', 'j', 'ArrowLeft'], 'nd_paper', 6],
    [['Home', 'j', 'ArrowLeft', 'ArrowRight', 'ArrowRight'], 'nd_look1', 10],
    [['End', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft'], 'nd_root', 9],
    [['End', 'h', '1'], 'nd_root', 1],
    [['End', '2'], 'nd_chairs', 4],
    [['End', '2', '3', 'End', 'Home'], 'nd_root', 10],
  ])('moves by %j', async (keys, node, rows) => {
    for (const key of ['9', 'Home']) await page.keyboard.press(key)
    for (const key of keys) await page.keyboard.press(key)
    expect(await selected()).toEqual({ focused: node, chosen: node, hash: `#${node}`, rows })
  })
})

describe.skipIf(!hasChromium)('the console', PATIENT, () => {
  beforeEach(async () => {
    stub = await freshStub()
    wrong.length = 0
  })
  afterEach(async () => {
    await page.goto('about:blank')
    await stub.close()
  })

  const screens: Record<string, () => Promise<void>> = {
    'a run': async () => {
      await open(RUN)
      await page.locator('[data-node="nd_leaf3"]').click()
    },
    'a question': async () => {
      await open(`${RUN}#nd_leaf3`)
      await page.getByRole('button', { name: 'Freeze branch' }).click()
      await page.locator('dialog[open]').waitFor()
    },
    'the runs': () => open('/'),
    'the holds': () => open('/holds'),
    'the login form': () => {
      stub.state.signedIn = false
      return open('/')
    },
  }
  it.each(Object.keys(screens))(
    'has no policy violation and no serious accessibility fault in %s, light and dark',
    async (name) => {
      await screens[name]?.()
      expect(await serious()).toEqual([])
      await page.emulateMedia({ colorScheme: 'dark' })
      expect(await serious(['color-contrast'])).toEqual([])
      expect(wrong).toEqual([])
    },
  )

  it('has no serious accessibility fault and no sideways scroll when narrow', async () => {
    await open(`${RUN}#nd_leaf3`, 'dark', 380)
    expect(await serious(['color-contrast', 'aria-required-children'])).toEqual([])
    const spill = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    )
    expect(spill).toBe(0)
    expect(wrong).toEqual([])
  })

  it('asks for the one-time code, says when it is wrong, and goes on when it is right', async () => {
    stub.state.signedIn = false
    await open('/')
    await page.getByLabel('One-time code').fill('WRONG')
    await page.keyboard.press('Enter')
    await page.getByText('the stub refuses: login_refused').waitFor()
    await page.getByLabel('One-time code').fill(` ${CODE} `)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    expect(stub.posted.at(-1)).toEqual({ path: '/login', body: { code: CODE } })
    expect(page.url()).not.toContain(CODE)
  })

  it('offers the demo when there is no run yet and goes to what it started', async () => {
    stub.state.runs = []
    await open('/')
    await page.getByRole('button', { name: 'Start the demo run' }).click()
    await page.waitForURL('**/runs/run_demo')
    expect(stub.posted.map(({ path }) => path)).toEqual(['/demo'])
  })

  it('says so when there is no such run and when there is no such node', async () => {
    await open(`${RUN}#nd_nowhere`)
    await page.getByText('No node of this run is nd_nowhere').waitFor()
    expect(await page.locator('.tree-body [role="row"]').count()).toBe(10)
    await page.goto(`${stub.url}/runs/run_nowhere`)
    await page.getByRole('heading', { name: 'No such run' }).waitFor()
  })

  it('prints money from minor units with its currency, and the branch adds up to its ceiling', async () => {
    await open(RUN)
    const row = page.locator('[data-node="nd_paper"]')
    for (const [name, figure] of [
      ['spent', '800.00'],
      ['reserved', '300.00'],
      ['available', '900.00'],
      ['ceiling', '2,000.00'],
    ]) {
      expect(await row.locator(`.cell-${name} .figure`).textContent()).toBe(figure)
    }
    expect(await row.locator('.bar > *').count()).toBe(3)
    expect(await page.locator('.sums').textContent()).toContain('INR 5,000.00')
    expect(await page.locator('.tree-head .cell-spent').textContent()).toBe('Spent INR')
  })

  it('names each of the nine cells by word, in order, and the first that failed', async () => {
    await open(RUN)
    const cells = page.locator('[data-node="nd_leaf3"] .strip [role="img"]')
    const names = await cells.evaluateAll((all) =>
      all.map((each) => each.getAttribute('aria-label')),
    )
    expect(names).toHaveLength(9)
    expect(names[0]).toBe('1 shape: passed')
    expect(names[7]).toBe('8 funds: failed')
    expect(names[8]).toBe('9 monitor: not reached')
    expect(await page.locator('[data-node="nd_leaf3"] .outcome').textContent()).toContain(
      '8 funds: insufficient',
    )
  })

  it('describes the tree to assistive technology and tells states by word', async () => {
    await open(RUN)
    expect(await page.locator('[role="treegrid"]').count()).toBe(1)
    const leaf = page.locator('[data-node="nd_leaf2"]')
    expect(await leaf.getAttribute('aria-level')).toBe('3')
    expect(await leaf.getAttribute('aria-posinset')).toBe('3')
    expect(await leaf.getAttribute('aria-setsize')).toBe('4')
    expect(await leaf.getAttribute('aria-expanded')).toBeNull()
    expect(await page.locator('[data-node="nd_paper"]').getAttribute('aria-expanded')).toBe('true')
    const state = (id: string) => page.locator(`[data-node="${id}"] .cell-state`).textContent()
    expect(await state('nd_leaf1')).toBe('closed')
    expect(await state('nd_leaf4')).toBe('held')
    expect(await state('nd_chairs')).toBe('frozen')
    expect(await state('nd_leaf5')).toBe('frozen above')
    expect(await page.locator('[data-node="nd_look1"]').textContent()).toContain('search-only')
    expect(await leaf.textContent()).toContain('pay-only')
  })

  it('is one stop of the Tab key', async () => {
    await open(RUN)
    await page.locator('[data-node="nd_leaf2"]').click()
    expect(await page.locator('.tree-body [tabindex="0"]').count()).toBe(1)
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Freeze branch')
    await page.keyboard.press('Shift+Tab')
    expect((await selected()).focused).toBe('nd_leaf2')
  })

  it('shows what an outsider wrote as text: no element, no link, nothing invisible', async () => {
    await open(`${RUN}#nd_leaf3`)
    const label = page.locator('[data-node="nd_leaf3"] .label')
    const text = (await label.textContent()) ?? ''
    expect(text).toContain('<img src=x onerror=alert(1)>')
    for (const mark of ['U+202E', 'U+202C', 'U+200B', 'U+0007']) expect(text).toContain(mark)
    const whole = await page.content()
    const hidden = ['\u202E', '\u200B', '\u0007'].filter((each) => whole.includes(each))
    expect(hidden).toEqual([])
    expect(await page.locator('main img, a[href*="evil"]').count()).toBe(0)
    expect(wrong).toEqual([])
  })

  it('caps a long title and says how much is missing', async () => {
    stub.state.nodes = nodes().map((node) =>
      node.id === 'nd_leaf3' ? { ...node, label: `${HOSTILE}${'x'.repeat(5_000)}` } : node,
    )
    await open(RUN)
    const text = (await page.locator('[data-node="nd_leaf3"] .label').textContent()) ?? ''
    expect(text.length).toBeLessThan(200)
    expect(text).toMatch(/… and \d+ more$/)
  })

  it('approves exactly what the card shows, once, and leaves the card where it is', async () => {
    await open('/holds')
    const card = page.locator('.cheque')
    const text = (await card.textContent()) ?? ''
    for (const shown of ['Ink House Private Limited', 'INR 1,180.00', hold().digest]) {
      expect(text).toContain(shown)
    }
    expect(await page.title()).toContain('(1 held)')
    await page.getByRole('button', { name: /Approve once/ }).dblclick()
    await card.getByText('the agent may send exactly this payment once').waitFor()
    expect(stub.posted).toEqual([
      { path: '/holds/hold_toner/approve', body: { digest: hold().digest } },
    ])
    await expect.poll(() => page.title(), PATIENT).not.toContain('held)')
    expect(await card.count()).toBe(1)
  })

  it('refuses with the digest too', async () => {
    await open(RUN)
    await page.getByRole('button', { name: /^Refuse/ }).click()
    await page.locator('.stamp').getByText('refused').waitFor()
    expect(stub.posted).toEqual([
      { path: '/holds/hold_toner/refuse', body: { digest: hold().digest } },
    ])
  })

  it('offers no button on a cheque that has expired or that was decided elsewhere', async () => {
    stub.state.holds = [hold({ expiresAtSeconds: 1_000 })]
    await open('/holds')
    await page.locator('.stamp').getByText('expired').waitFor()
    expect(await page.locator('.cheque button').count()).toBe(0)
    stub.state.holds = [hold()]
    await page.goto(stub.url + RUN)
    await page.getByRole('button', { name: /^Refuse/ }).waitFor()
    await page.locator('#link').getByText('live').waitFor()
    stub.state.holds = [hold({ state: 'approved', decidedBy: 'another' })]
    stub.state.position += 1
    stub.send('fact')
    await page.locator('.stamp').getByText('by another').waitFor()
    expect(await page.locator('.cheque button').count()).toBe(0)
  })

  it('asks before it stops a branch, says what stops, and shows what the gateway answered', async () => {
    await open(`${RUN}#nd_paper`)
    await page.getByRole('button', { name: 'Freeze branch' }).click()
    const dialog = page.locator('dialog')
    expect(await dialog.textContent()).toContain('INR 900.00')
    await page.keyboard.press('Escape')
    expect(stub.posted).toEqual([])
    await page.getByRole('button', { name: 'Revoke branch' }).click()
    await page.getByRole('button', { name: 'Revoke 5 nodes' }).click()
    await dialog.getByText('Revoked for good').waitFor()
    expect(stub.posted).toEqual([{ path: '/runs/run_stationery/nodes/nd_paper/revoke', body: {} }])
  })

  it('freezes the whole gateway, lists what was on its way, and offers to resume', async () => {
    await open('/')
    await page.getByRole('button', { name: 'Freeze everything' }).click()
    await page.locator('dialog').getByRole('button', { name: 'Freeze everything' }).click()
    await page.getByText('pay_on_its_way').waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByText('The whole gateway is frozen').waitFor()
    await page.getByRole('button', { name: 'Resume the gateway' }).click()
    await page.locator('dialog').getByRole('button', { name: 'Resume the gateway' }).click()
    await page.locator('dialog').getByText('The gateway is resumed').waitFor()
    expect(stub.posted.map(({ path }) => path)).toEqual(['/freeze', '/resume'])
  })

  it('shows within a run that somebody else froze the whole gateway', async () => {
    stub.state.nodes = nodes().filter((node) => node.standing !== 'frozen')
    stub.state.runs = [run({ frozen: false })]
    await open(RUN)
    await page.locator('#link').getByText('live').waitFor()
    stub.state.frozen = true
    stub.state.runs = [run({ frozen: true })]
    stub.state.position += 1
    stub.send('fact')
    await page.getByText('The whole gateway is frozen').waitFor()
    expect(await page.locator('.summary .states').textContent()).toContain('frozen')
    expect(await page.locator('.summary .states').textContent()).not.toContain('in part')
  })

  it('follows the feed without losing the place: no scroll, same node, same focus', async () => {
    stub.state.position = 41
    await open(RUN)
    await page.locator('[data-node="nd_leaf4"]').click()
    await expect.poll(() => stub.streams, PATIENT).toEqual([41])
    await page.setViewportSize({ width: 900, height: 400 })
    await page.evaluate('scrollTo(0, 10)')
    stub.state.nodes = nodes().map((node) =>
      node.id === 'nd_leaf4' ? { ...node, standing: 'closed' as const } : node,
    )
    stub.state.position = 42
    stub.send('fact')
    await page.locator('[data-node="nd_leaf4"] .cell-state').getByText('closed').waitFor()
    expect(await page.evaluate('scrollY')).toBe(10)
    expect((await selected()).focused).toBe('nd_leaf4')
  })

  it('reads the run at most every quarter of a second, however many facts arrive', async () => {
    await open(RUN)
    await page.locator('#link').getByText('live').waitFor()
    const before = stub.reads()
    const start = performance.now()
    for (let i = 0; i < 60; i += 1) {
      stub.state.position += 1
      stub.send('fact')
      await new Promise((resolve) => setTimeout(resolve, 15))
    }
    const most = (performance.now() - start) / 250 + 2
    expect(stub.reads() - before).toBeLessThanOrEqual(most)
    stub.state.runs = [run({ reason: 'read after the last fact' })]
    stub.state.position += 1
    stub.send('fact')
    await page.getByText('read after the last fact').waitFor()
  })

  it('says since when it is stale, and catches up from the last position that it saw', async () => {
    await open(RUN)
    const link = page.locator('#link')
    await link.getByText('live').waitFor()
    stub.state.position = 7
    stub.send('fact')
    await expect.poll(() => stub.reads(), PATIENT).toBeGreaterThan(1)
    stub.state.up = false
    stub.cut()
    await link.getByText(/^stale since \d\d:\d\d:\d\d/).waitFor()
    expect(await page.locator('#announce').textContent()).toContain('lost')
    stub.state.up = true
    // It may have come back by itself before it is asked to, and then there is nothing to press.
    const pressed = link.click().catch(() => undefined)
    await link.getByText('live').waitFor()
    expect(stub.streams.at(-1)).toBe(7)
    await page.goto('about:blank')
    await pressed
  })

  it('comes back after a goodbye and reads again after a reset', async () => {
    await open(RUN)
    await expect.poll(() => stub.streams.length, PATIENT).toBe(1)
    stub.send('bye', { reason: 'age' })
    await expect.poll(() => stub.streams.length, PATIENT).toBe(2)
    stub.state.position = 3
    stub.send('reset', { reason: 'ahead', head: 3 })
    await expect.poll(() => stub.streams.at(-1), PATIENT).toBe(3)
    await page.locator('#link').getByText('live').waitFor()
  })

  it('shows one hold at its own address, whatever became of it', async () => {
    stub.state.holds = [hold({ state: 'refused', decidedBy: 'another' })]
    await open('/holds/hold_toner')
    await page.locator('.stamp').getByText('refused, by another').waitFor()
    expect(await page.locator('.cheque button').count()).toBe(0)
  })

  it('signs out and asks for a new code', async () => {
    await open('/')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('One-time code').waitFor()
    expect(stub.posted.map(({ path }) => path)).toEqual(['/logout'])
  })

  it('keeps what is being typed into the login form', async () => {
    stub.state.signedIn = false
    await open('/')
    await page.getByLabel('One-time code').fill('ABC')
    await page.evaluate(`dispatchEvent(new Event('signed-out'))`)
    expect(await page.getByLabel('One-time code').inputValue()).toBe('ABC')
  })

  it('shows the login form when the session has ended under it', async () => {
    await open(RUN)
    await page.locator('#link').getByText('live').waitFor()
    stub.state.signedIn = false
    stub.cut()
    await page.getByLabel('One-time code').waitFor()
  })

  it('says of a run that it is halted or erased, of a payment that it is overdue, and what came back', async () => {
    stub.state.runs = [
      run({ haltedAtSeconds: 1_796_000_300, erasedAtSeconds: 1_796_000_400, task: 'erased' }),
    ]
    stub.state.nodes = nodes().map((each) =>
      each.id === 'nd_leaf5' && each.payment !== undefined
        ? { ...each, payment: { ...each.payment, overdue: true, reversed: minor(12_500) } }
        : each,
    )
    await open(`${RUN}#nd_leaf5`)
    const states = await page.locator('.states').first().textContent()
    expect([states?.includes('halted'), states?.includes('erased')]).toEqual([true, true])
    const side = page.locator('.inspector')
    await side.getByText('unknown, overdue').waitFor()
    expect(await side.textContent()).toContain('Came backINR 125.00')
    await open('/')
    expect(await page.locator('.states-cell').first().textContent()).toContain('halted')
  })

  it('stops following a run that is over and says that it is final', async () => {
    stub.state.runs = [
      run({ state: 'completed', finishedAtSeconds: 1_796_000_500, seal: 'a.b.c', frozen: false }),
    ]
    await open(RUN)
    await page.locator('#link').getByText('final').waitFor()
    expect(await page.locator('.states').first().textContent()).toContain('sealed')
    expect(await page.getByRole('button', { name: 'Cancel run' }).count()).toBe(0)
  })
})
