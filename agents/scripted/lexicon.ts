/** What the scripted engine knows of the world: things offices buy, by category, and the words around them. */

const nouns = (text: string): readonly string[] => text.split(',').map((noun) => noun.trim())

export interface Category {
  readonly name: string
  /** How dear one unit is thought to be, beside the others: shares of money without a limit follow it. */
  readonly weight: number
  readonly nouns: readonly string[]
}

export const CATEGORIES: readonly Category[] = [
  {
    name: 'Furniture',
    weight: 12,
    nouns:
      nouns(`desk, table, chair, stool, sofa, couch, armchair, bench, cabinet, cupboard, shelf, bookcase,
      bookshelf, bookcase, drawer, wardrobe, locker, pedestal, partition, footrest, coat rack, coat stand, workstation,
      lectern, filing cabinet, meeting table, screen divider, monitor arm, whiteboard, pinboard, noticeboard,
      shelving, rack, credenza, sideboard, bean bag, hat stand, podium, booth, pod`),
  },
  {
    name: 'Lighting',
    weight: 2,
    nouns: nouns(
      'lamp, light, bulb, lantern, chandelier, spotlight, led strip, desk lamp, lampshade',
    ),
  },
  {
    name: 'Kitchen',
    weight: 3,
    nouns:
      nouns(`kettle, coffee machine, coffee maker, espresso machine, grinder, toaster, microwave, fridge,
      refrigerator, dishwasher, oven, blender, mug, cup, glass, plate, bowl, fork, knife, spoon, cutlery, pan, pot, jug,
      water cooler, water dispenser, thermos, tray, teapot, dish rack, coffee pot, french press, tumbler, carafe,
      bottle, induction hob, stove, freezer, chopping board, lunch box, saucer`),
  },
  {
    name: 'Electronics',
    weight: 10,
    nouns:
      nouns(`laptop, computer, monitor, display, keyboard, mouse, printer, scanner, projector, headset, headphone,
      webcam, camera, router, switch, cable, charger, adapter, dock, docking station, phone, telephone, tablet, speaker,
      microphone, ssd, drive, hard drive, hub, server, television, tv, power strip, ups, battery, access point,
      surge protector, extension cord, extension lead, memory stick, power bank, conference phone, smartphone,
      earphone, earbud, remote control, presenter, clicker, network switch, hdmi cable, stand, laptop stand`),
  },
  {
    name: 'Stationery',
    weight: 1,
    nouns:
      nouns(`pen, pencil, marker, highlighter, notebook, notepad, paper, envelope, folder, binder, stapler, staple,
      tape, glue, scissors, ruler, eraser, sticky note, post-it, clip, paperclip, label, stamp, diary, planner, calendar,
      toner, ink, cartridge, index card, clipboard, pencil sharpener, calculator, rubber band, pad, ream, brush pen,
      whiteboard marker, file, punch, hole punch, desk organiser, desk organizer, ink cartridge, washi tape`),
  },
  {
    name: 'Cleaning',
    weight: 1,
    nouns:
      nouns(`soap, detergent, bleach, mop, bucket, broom, vacuum cleaner, vacuum, duster, sponge, towel, bin,
      wastebasket, trash can, trash bag, bin bag, bin liner, tissue, toilet paper, toilet roll, disinfectant, cleaner,
      sanitizer, sanitiser, dishcloth, wipe, glove, air freshener, dustpan, hand wash, paper towel, tablet cleaner`),
  },
  {
    name: 'Pantry',
    weight: 1,
    nouns:
      nouns(`coffee, coffee bean, bean, tea, tea bag, milk, sugar, water, juice, biscuit, cookie, snack, fruit, salt,
      pepper, rice, cereal, chocolate, nut, honey, date, dates, oat milk, creamer, green tea, matcha, sencha, cardamom,
      saffron, syrup, soda, cracker, granola`),
  },
  {
    name: 'Decor',
    weight: 2,
    nouns:
      nouns(`plant, vase, rug, carpet, curtain, blind, picture, poster, frame, clock, mirror, cushion, flower, planter,
      plant pot, painting, doormat, mat, blanket, fan, humidifier, heater, air purifier, coaster`),
  },
  {
    name: 'Safety',
    weight: 2,
    nouns:
      nouns(`first aid kit, fire extinguisher, smoke detector, smoke alarm, helmet, safety vest, lock, padlock, safe,
      torch, flashlight, fire blanket, mask, sign, carbon monoxide detector, shredder`),
  },
  {
    name: 'Tools',
    weight: 2,
    nouns:
      nouns(`drill, hammer, screwdriver, ladder, toolbox, tool kit, wrench, pliers, saw, tape measure, trolley,
      hand truck, cart, box, moving box, carton, crate, bubble wrap, packing tape, box cutter, screw, nail, hook, key`),
  },
]

export const OTHER: Category = { name: 'Other', weight: 3, nouns: [] }

const words = (text: string): ReadonlySet<string> => new Set(text.split(/\s+/).filter(Boolean))

/** Things that come in twos: a pair of them is one. */
export const PAIRED =
  words(`scissors glove gloves trousers pliers tongs glasses goggles headphones shoes boots socks
  slippers speakers earphones earbuds`)

/** Words that describe and are bought by nobody: a segment of these alone is a preference. */
export const QUALITIES =
  words(`large small medium big little tall short wide narrow long compact slim thin thick heavy
  light lightweight sturdy solid robust durable ergonomic comfortable comfy adjustable foldable stackable standing
  sitting swivel rolling mobile portable wireless wired cordless electric manual automatic digital analog analogue smart
  new used refurbished modern classic vintage plain simple basic premium professional quality good nice cheap
  inexpensive affordable reliable quiet silent fast black white grey gray red blue green yellow brown beige silver
  golden gold pink purple orange dark bright natural oak walnut birch beech pine bamboo wood wooden metal metallic
  steel stainless aluminium aluminum glass plastic leather fabric mesh cotton wool linen ceramic porcelain rubber
  organic fair fairtrade fair-trade trade vegan recycled recyclable sustainable eco eco-friendly biodegradable local
  halal kosher lined ruled unlined dimmable washable waterproof magnetic assorted coloured colored matching identical
  round square rectangular oval curved flat high low back high-back low-back strong soft hard warm cold certified
  rechargeable matte glossy transparent clear opaque double single height heavy-duty`)

/** Parts and aspects of a thing: `assorted colours`, `steel legs`. A segment that ends in one describes. */
export const FEATURES =
  words(`colour colours color colors size sizes style design finish quality material materials legs
  arms armrests wheels castors casters handle handles lid lids frame back seat model brand tip tips weight`)

export const QUALITY_ENDING =
  /.(?:able|ible|proof|free|less|friendly|resistant|adjustable|certified|efficient|coloured|colored|style|sized|grade)$/

/** Words that hold a number to a measure: `27 inch monitor` is one monitor. */
export const SPEC_UNITS =
  words(`inch inches cm mm m meter meters metre metres ft foot feet ml cl g gram grams gsm mg w
  watt watts kw v volt volts hz mhz ghz gb tb mb mah ah mp megapixel port ports seat seats seater seaters door drawer
  bit cup tier tiers shelf-tier degree degrees step steps ply page pages sheet sheets piece-set hour hours ohm
  lumen lumens lm k`)

/** Measures sold by the one: five kilos are five times one kilo. */
export const WHOLE_MEASURES = words(
  'kg kgs kilo kilos kilogram kilograms l litre litres liter liters',
)

export const COUNT_UNITS = words('pcs pc pce pieces piece nos no units unit ea items item count ct')

/** Containers and amounts that say nothing about what is inside. */
export const CONTAINERS =
  words(`box boxes pack packs packet packets bag bags set sets case cases bottle bottles roll rolls
  ream reams carton cartons bundle bundles tin tins jar jars sheet sheets kit pair pairs unit units piece pieces tub
  crate crates sack sacks can cans kg kilo kilos litre litres liter liters dozen`)

/** A title or a need is searched and compared without these. */
export const STOP_WORDS =
  words(`a an the of for with without in on to and or our your my their its at by from per as new
  some any this that these those it is are be more each every all us we i please`)

export const SYNONYMS: readonly (readonly string[])[] = [
  ['sofa', 'couch', 'settee'],
  ['monitor', 'display'],
  ['cabinet', 'cupboard'],
  ['mug', 'cup'],
  ['bin', 'wastebasket'],
  ['laptop', 'notebook computer'],
  ['refrigerator', 'fridge'],
  ['coffee machine', 'coffee maker', 'espresso machine'],
  ['bookcase', 'bookshelf', 'shelf', 'shelving'],
  ['lamp', 'light'],
  ['headset', 'headphone'],
  ['television', 'tv'],
  ['speaker', 'loudspeaker'],
  ['telephone', 'phone'],
  ['vacuum', 'vacuum cleaner'],
  ['extension cord', 'extension lead', 'power strip'],
  ['bean', 'coffee bean', 'coffee'],
  ['sanitizer', 'sanitiser'],
]
