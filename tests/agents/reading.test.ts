import { describe, expect, it } from 'vitest'
import { readTask } from '../../agents/scripted/task.ts'
import type { Currency } from '../../runtime/core/money.ts'

/** `12 x desks <=150.00 total<=…` in minor units, so that a table of readings fits on a page. */
const read = (task: string, currency: Currency): string[] | string => {
  const reading = readTask(task, currency)
  if (reading.kind === 'unreadable') return reading.reason
  const lines = reading.lines.map(({ text, quantity, maxUnit, maxTotal, prefer, path }) =>
    [
      `${quantity} x ${text}`,
      ...(maxUnit === undefined ? [] : [`<=${maxUnit}`]),
      ...(maxTotal === undefined ? [] : [`total<=${maxTotal}`]),
      ...(prefer.length === 0 ? [] : [`~${prefer.join(' ~')}`]),
      ...(path.length === 0 ? [] : [`[${path.join('/')}]`]),
    ].join(' '),
  )
  return reading.most === undefined ? lines : [...lines, `all<=${reading.most}`]
}

type Row = readonly [task: string, currency: Currency, lines: readonly string[]]

const QUANTITIES: readonly Row[] = [
  ['we need twelve desks, two of them standing, and a coffee machine under 400 USD', 'USD', ['10 x desks', '2 x standing desks', '1 x coffee machine <=39999']],
  ['12x desks; chairs x 4; lamps: 6; mugs - 3', 'USD', ['12 x desks', '4 x chairs', '6 x lamps', '3 x mugs']],
  ['a dozen pens, half a dozen mugs, two dozen plates and a couple of lamps', 'USD', ['12 x pens', '6 x mugs', '24 x plates', '2 x lamps']],
  ['a pair of monitors; two pairs of scissors', 'USD', ['2 x monitors', '2 x scissors']],
  ['one hundred and twenty mugs', 'USD', ['120 x mugs']],
  ['twenty-four pens and thirty five pencils', 'USD', ['24 x pens', '35 x pencils']],
  ['1,500 pens under 1 USD each', 'USD', ['1500 x pens <=99']],
  ['12 pcs of desks, 3 nos. lamps', 'USD', ['12 x desks', '3 x lamps']],
  ['12 (twelve) desks', 'USD', ['12 x desks']],
  ['desks (12)', 'USD', ['12 x desks']],
  ['qty 4 office chair', 'USD', ['4 x office chair']],
  ['office chair, qty: 4', 'USD', ['4 x office chair']],
  ['chair, 12', 'USD', ['12 x chair']],
  ['another two lamps and three more chairs', 'USD', ['2 x lamps', '3 x chairs']],
  ['about 15 desks', 'USD', ['15 x desks']],
  ['up to 12 desks for no more than 150 each', 'USD', ['12 x desks <=15000']],
  ['two 27-inch monitors and a 27 inch monitor', 'USD', ['2 x 27-inch monitors', '1 x 27 inch monitor']],
  ['desk 120 x 60 cm x 3', 'USD', ['3 x desk 120 x 60 cm']],
  ['10 reams of A4 paper; 3 packs of 10 pens; 2 x 500 ml bottles', 'USD', ['10 x reams of A4 paper', '3 x packs of 10 pens', '2 x 500 ml bottles']],
  ['5 kg of fair trade coffee beans', 'USD', ['5 x 1 kg fair trade coffee beans']],
  ['fair trade coffee, 5 kg', 'USD', ['5 x 1 kg fair trade coffee']],
  ['a table for 6', 'USD', ['1 x table for 6']],
  ['Twelve desks are needed.', 'USD', ['12 x desks']],
  ['a large, sturdy desk', 'USD', ['1 x large sturdy desk']],
] // biome-ignore format: a table

const LIMITS: readonly Row[] = [
  ['Buy 12 desks up to 150 each and 12 office chairs max 90 per chair.', 'USD', ['12 x desks <=15000', '12 x office chairs <=9000']],
  ['3 desks, max 9,000 per desk', 'INR', ['3 x desks <=900000']],
  ['3 desks under ₹500 a piece', 'INR', ['3 x desks <=49999']],
  ['3 desks at most $20/unit', 'USD', ['3 x desks <=2000']],
  ['3 desks for at most 20000 in total', 'INR', ['3 x desks total<=2000000']],
  ['4 desks (up to ₹1,50,000 each)', 'INR', ['4 x desks <=15000000']],
  ['2 laptops max 1.5 lakh each', 'INR', ['2 x laptops <=15000000']],
  ['2 laptops max 60k each', 'INR', ['2 x laptops <=6000000']],
  ['2 monitors at most twenty thousand rupees each', 'INR', ['2 x monitors <=2000000']],
  ['5 tea sets up to ¥4,500 each', 'JPY', ['5 x tea sets <=4500']],
  ['5 tea sets up to 4,500 yen each', 'JPY', ['5 x tea sets <=4500']],
  ['2 laptops under KD 250.500 each', 'KWD', ['2 x laptops <=250499']],
  ['2 pens at most 500 fils each', 'KWD', ['2 x pens <=500']],
  ['2 pens at most 50 paise each', 'INR', ['2 x pens <=50']],
  ['2 desks at most 1.250,50 USD each', 'USD', ['2 x desks <=125050']],
  ["2 desks at most 1'250 USD each", 'USD', ['2 x desks <=125000']],
  ['12 chairs, 90 each', 'USD', ['12 x chairs <=9000']],
  ['12 chairs at 90 USD apiece', 'USD', ['12 x chairs <=9000']],
  ['12 chairs for 900 USD', 'USD', ['12 x chairs total<=90000']],
  ['3 monitors with a budget of 900', 'USD', ['3 x monitors total<=90000']],
  ['3 monitors between 100 and 150 each', 'USD', ['3 x monitors <=15000']],
  ['3 monitors 100-150 USD each', 'USD', ['3 x monitors <=15000']],
  ['a lamp, 40 USD or less', 'USD', ['1 x lamp <=4000']],
  ['at most 3 printers, each at most 200', 'USD', ['3 x printers <=20000']],
  ['12 desks up to 150 each, no more than 1,500 in total', 'USD', ['12 x desks <=15000 total<=150000']],
  ['12 desks at most 100 each, two of them standing', 'USD', ['10 x desks <=10000', '2 x standing desks <=10000']],
  ['Rs. 500/- each at most, 3 lamps', 'INR', ['3 x lamps <=50000']],
  ['2 lamps @ 30 each', 'USD', ['2 x lamps <=3000']],
  ['Budget: 5000\n- 2 desks\n- 2 chairs', 'USD', ['2 x desks', '2 x chairs', 'all<=500000']],
  ['2 desks and 2 chairs. The total must not exceed 5,000.', 'USD', ['2 x desks', '2 x chairs', 'all<=500000']],
  ['at least 100 USD each, 2 lamps', 'USD', ['2 x lamps ~at least USD 100.00 each']],
  ['two desks within 3 days, max 90 each', 'USD', ['2 x desks <=9000']],
] // biome-ignore format: a table

const WISHES: readonly Row[] = [
  ['12 chairs, preferably ergonomic, from Desk Bazaar', 'USD', ['12 x chairs ~ergonomic ~from Desk Bazaar']],
  ['a table, oak if possible', 'USD', ['1 x table ~oak']],
  ['the cheapest kettle', 'USD', ['1 x kettle ~cheapest']],
  ['4-port USB-C hub, x3', 'USD', ['3 x 4-port USB-C hub']],
  ['6 mugs (blue, max 5 each), 4 plates', 'USD', ['6 x mugs <=500 ~blue', '4 x plates']],
  ['fair trade coffee', 'USD', ['1 x fair trade coffee']],
  ['coffee, fair trade', 'USD', ['1 x coffee ~fair trade']],
  ['we would like to have 3 desks that are oak, without drawers', 'USD', ['3 x desks ~oak ~without drawers']],
  ['2 sofas. They should be green.', 'USD', ['2 x sofas ~green']],
  ['a kettle from Kitchen World or Home Depot', 'USD', ['1 x kettle ~from Kitchen World or Home Depot']],
  ['a kettle, not from Flash Deals', 'USD', ['1 x kettle ~not from Flash Deals']],
  ['a black and white printer', 'USD', ['1 x black and white printer']],
  ['12 x "salt and pepper shakers" (prefer "no. 1, red")', 'USD', ['12 x salt and pepper shakers ~no. 1, red']],
  ['whiteboard markers, 20, assorted colours', 'USD', ['20 x whiteboard markers ~assorted colours']],
] // biome-ignore format: a table

const SHAPES: readonly Row[] = [
  ['## Furniture\n- 4 desks\n### Chairs\n- 12 chairs\n## Kitchen\n- kettle', 'USD', ['4 x desks [Furniture]', '12 x chairs [Furniture/Chairs]', '1 x kettle [Kitchen]']],
  ['Furniture:\n  Desks:\n    - 12 standing desks\n  Chairs:\n    - 12 chairs\nKitchen:\n  - coffee machine', 'USD', ['12 x standing desks [Furniture/Desks]', '12 x chairs [Furniture/Chairs]', '1 x coffee machine [Kitchen]']],
  ['- Furniture\n  - 12 desks\n  - 4 chairs\n- Kitchen\n  - 1 kettle', 'USD', ['12 x desks [Furniture]', '4 x chairs [Furniture]', '1 x kettle [Kitchen]']],
  ['Kitchen\n- kettle\n- 6 mugs\nOffice\n- 2 desks', 'USD', ['1 x kettle [Kitchen]', '6 x mugs [Kitchen]', '2 x desks [Office]']],
  ['Furniture\n---------\n2 desks\n4 chairs', 'USD', ['2 x desks [Furniture]', '4 x chairs [Furniture]']],
  ['**Furniture**\n- 2 desks\n**Kitchen**\n- kettle', 'USD', ['2 x desks [Furniture]', '1 x kettle [Kitchen]']],
  ['1. Furniture:\n   - 2 desks\n2. Kitchen:\n   - kettle', 'USD', ['2 x desks [Furniture]', '1 x kettle [Kitchen]']],
  ['Furniture: 2 desks, 4 chairs\nKitchen: a kettle', 'USD', ['2 x desks [Furniture]', '4 x chairs [Furniture]', '1 x kettle [Kitchen]']],
  ['For the kitchen: a kettle and two pans.', 'USD', ['1 x kettle [kitchen]', '2 x pans [kitchen]']],
  ['In the kitchen we need a kettle and 6 mugs', 'USD', ['1 x kettle [kitchen]', '6 x mugs [kitchen]']],
  ['- 12 desks\n  - max 500 each\n  - preferably oak\n- 4 chairs\n  - ergonomic', 'USD', ['12 x desks <=50000 ~oak', '4 x chairs ~ergonomic']],
  ['item | qty | max\n--- | --- | ---\ndesk | 12 | max 90 each\nchair | 4 | max 50 each', 'USD', ['12 x desk <=9000', '4 x chair <=5000']],
  ['Desk: 12\nChair: 12, at most 90 each\nLamp: 3', 'USD', ['12 x Desk', '12 x Chair <=9000', '3 x Lamp']],
  ['ergonomic chair\nstanding desk\nflibbergib', 'USD', ['1 x ergonomic chair', '1 x standing desk', '1 x flibbergib']],
  ['Hi team,\n\nWe are moving on 3 March. Please order two sofas (preferably green)\nand one coffee table, oak if possible. Deliver to 5 Main Street.\n\nThanks,\nAnna', 'USD', ['2 x sofas ~green', '1 x coffee table ~oak']],
  ['[ ] 2 desks\n[x] 3 lamps', 'USD', ['2 x desks', '3 x lamps']],
] // biome-ignore format: a table

const TAKEN_BACK: readonly Row[] = [
  ['12 desks, 4 chairs, no chairs', 'USD', ['12 x desks']],
  ['do not buy chairs or lamps. We need 3 desks, 2 office chairs and a lamp.', 'USD', ['3 x desks']],
  ["- 3 desks\n- 4 chairs\n\nWe don't need chairs.", 'USD', ['3 x desks']],
  ['3 desks, no plastic', 'USD', ['3 x desks ~no plastic']],
  ['3 desks but no chairs, lamps', 'USD', ['3 x desks']],
  ['no more than 20 USD a piece: 3 lamps', 'USD', ['3 x lamps <=2000']],
] // biome-ignore format: a table

describe('a task in words', () => {
  it.each(QUANTITIES)('says how many: %s', (task, currency, lines) => {
    expect(read(task, currency)).toEqual(lines)
  })
  it.each(LIMITS)('says how much at most: %s', (task, currency, lines) => {
    expect(read(task, currency)).toEqual(lines)
  })
  it.each(WISHES)('says what is preferred: %s', (task, currency, lines) => {
    expect(read(task, currency)).toEqual(lines)
  })
  it.each(SHAPES)('has a shape on the page: %s', (task, currency, lines) => {
    expect(read(task, currency)).toEqual(lines)
  })
  it.each(TAKEN_BACK)('takes things back: %s', (task, currency, lines) => {
    expect(read(task, currency)).toEqual(lines)
  })
})

describe('a limit for everything under a heading', () => {
  it('is read from the heading, which keeps its name', () => {
    const reading = readTask('## Kitchen (at most 20,000 in total)\n- kettle\n- 6 mugs', 'INR')
    expect(reading).toMatchObject({ caps: [{ path: ['Kitchen'], most: 2_000_000 }] })
  })
})

const UNREADABLE: readonly (readonly [string, Currency, string])[] = [
  ['a coffee machine under 400 EUR', 'USD', '"under 400 EUR" is in EUR, but this run pays in USD: give it in USD.'],
  ['a coffee machine under $400', 'INR', '"under $400" is in USD, but this run pays in INR: give it in INR.'],
  ['2 desks at most £90 each', 'USD', '"at most £90 each" is in GBP, but this run pays in USD: give it in USD.'],
  ['3 chairs at most 12.345 USD each', 'USD', '"at most 12.345 USD each" has more decimal places than USD has.'],
  ['2 sets at most ¥12.50 each', 'JPY', '"at most ¥12.50 each" has more decimal places than JPY has.'],
  ['3 chairs at most 1,50 USD each', 'USD', '"at most 1,50 USD each" holds a number that can be read in more than one way: write it without separators.'],
  ['some chairs', 'USD', '"some chairs" does not say how many: write a number.'],
  ['12 desks and chairs', 'USD', '"chairs" does not say how many: write a number.'],
  ['2-3 desks', 'USD', '"2-3 desks" gives a range: write one number.'],
  ['0 desks', 'USD', '"0 desks" is not a number of things that can be bought: write 1 to 1000000.'],
  ['1.5 desks', 'USD', '"1.5 desks" needs a whole number of things.'],
  ['chairs, 90 each', 'USD', '"90 each" can be a price or a number: say "at most 90 each" for a price.'],
  ['12 desks x 3', 'USD', '"desks" has two numbers, 12 and 3: keep one.'],
  ['two desks max nothing each', 'USD', '"desks max nothing" names a limit without an amount: write the most as a number.'],
  ['a kettle or a teapot', 'USD', '"or a teapot" leaves a choice between two things: name the one to buy.'],
  ['a coffee subscription for 20 USD per month', 'USD', '"for 20 USD per month" is a price per period: only things that are paid once can be bought.'],
  ['2 desks under 0.01 USD each', 'USD', '"under 0.01 USD each" leaves nothing to spend: give an amount above zero.'],
  ['2 desks under 99999999999999999 USD each', 'USD', '"under 99999999999999999 USD each" is larger than any amount of money here.'],
] // biome-ignore format: a table

describe('what cannot be read safely', () => {
  it.each(UNREADABLE)('is named in a sentence: %s', (task, currency, reason) => {
    expect(read(task, currency)).toBe(reason)
  })

  it.each(['Hello, how are you?', 'We are moving on 3 March.', 'Thanks!', '...', 'What is the weather like today?', 'no chairs', 'chairs for everyone? No chairs.'])(
    'asks for things to buy when there are none: %s',
    (task) => {
      expect(read(task, 'USD')).toMatch(/^found nothing to buy in the task/)
    },
  ) // biome-ignore format: a list
})
