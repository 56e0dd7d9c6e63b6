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
      bookshelf, drawer, wardrobe, locker, pedestal, partition, divider, footrest, coat rack, coat stand, workstation,
      lectern, screen divider, desk screen, whiteboard, pinboard, noticeboard, shelving, rack, credenza, sideboard,
      bean bag, podium, booth, phone booth, pod, shelving unit, acoustic panel, wall panel, ottoman, easel,
      sit-stand desk`),
  },
  {
    name: 'Lighting',
    weight: 2,
    nouns: nouns(
      'lamp, light, bulb, lantern, chandelier, spotlight, led strip, lampshade, pendant light',
    ),
  },
  {
    name: 'Kitchen',
    weight: 4,
    nouns:
      nouns(`kettle, coffee machine, coffee maker, espresso machine, grinder, toaster, microwave, microwave oven,
      fridge, refrigerator, dishwasher, oven, blender, mug, cup, glass, plate, bowl, fork, knife, spoon, cutlery, pan, pot,
      jug, water cooler, water dispenser, water filter, filter dispenser, dispenser, thermos, tray, teapot, dish rack,
      coffee pot, french press, tumbler, carafe, bottle, hob, stove, freezer, chopping board, lunch box, saucer, urn,
      cooler`),
  },
  {
    name: 'Electronics',
    weight: 10,
    nouns:
      nouns(`laptop, computer, pc, mini pc, monitor, display, screen, keyboard, mouse, printer, scanner, projector,
      headset, headphone, webcam, camera, router, switch, network switch, cable, charger, adapter, dock, docking station,
      phone, telephone, tablet, speaker, speakerphone, soundbar, sound bar, microphone, ssd, drive, hub, server, nas,
      network storage, television, tv, power strip, ups, battery, access point, surge protector, extension cord,
      extension lead, memory stick, power bank, smartphone, earphone, earbud, remote control, clicker, monitor arm,
      monitor stand, laptop stand, cable tie, label printer`),
  },
  {
    name: 'Stationery',
    weight: 1,
    nouns:
      nouns(`pen, pencil, marker, highlighter, notebook, notepad, paper, envelope, folder, binder, stapler, staple,
      tape, glue, scissors, ruler, eraser, sticky note, post-it, clip, paperclip, label, stamp, diary, planner, calendar,
      toner, ink, cartridge, index card, clipboard, sharpener, calculator, rubber band, pad, journal, file, wallet,
      document wallet, punch, hole punch, desk organiser, desk organizer, organiser, organizer, label tape, desk pad,
      whiteboard film, card`),
  },
  {
    name: 'Cleaning',
    weight: 1,
    nouns:
      nouns(`soap, hand soap, detergent, bleach, mop, bucket, broom, vacuum cleaner, vacuum, duster, sponge, towel, bin,
      wastebasket, trash can, trash bag, bin bag, bin liner, tissue, toilet paper, toilet roll, disinfectant, cleaner,
      sanitizer, sanitiser, dishcloth, wipe, glove, air freshener, dustpan, hand wash, paper towel, cleaning spray, spray,
      cleaning supply`),
  },
  {
    name: 'Pantry',
    weight: 1,
    nouns:
      nouns(`coffee, coffee bean, bean, tea, tea bag, green tea, chai, milk, sugar, water, juice, biscuit, cookie,
      snack, fruit, fruit basket, salt, pepper, rice, cereal, chocolate, nut, honey, date, oat milk, oat drink, creamer,
      matcha, sencha, cardamom, saffron, syrup, soda, cracker, granola, coffee capsule, capsule`),
  },
  {
    name: 'Decor',
    weight: 2,
    nouns:
      nouns(`plant, snake plant, succulent, lily, fig, vase, rug, carpet, carpet tile, curtain, blind, picture, poster,
      print, frame, clock, mirror, cushion, flower, planter, plant pot, painting, doormat, mat, blanket, fan, humidifier,
      heater, air purifier, coaster, candle`),
  },
  {
    name: 'Gifts',
    weight: 2,
    nouns:
      nouns(`book, gift, hamper, gift hamper, gift box, voucher, gift card, thank-you card, board game, game,
      tote bag, water bottle, tote, toy, atlas`),
  },
  {
    name: 'Services',
    weight: 15,
    nouns:
      nouns(`mover, moving crew, crew, office move, move, cleaning, deep cleaning, packing service, assembly, desk assembly,
      chair assembly, mounting, disposal, collection, installation, insurance, storage, storage room, repair, painting job,
      pest control, delivery, helper, van, truck, hire, crate hire, shredding, catering, removal, reconnect`),
  },
  {
    name: 'Safety',
    weight: 2,
    nouns:
      nouns(`first aid kit, fire extinguisher, smoke detector, smoke alarm, helmet, safety vest, lock, padlock, safe,
      torch, flashlight, fire blanket, mask, sign, detector, shredder, paper shredder`),
  },
  {
    name: 'Packing',
    weight: 1,
    nouns:
      nouns(`box, moving box, archive box, wardrobe box, carton, crate, bubble wrap, wrap, packing tape, packing paper,
      box cutter, moving label, pallet`),
  },
  {
    name: 'Tools',
    weight: 2,
    nouns:
      nouns(`drill, hammer, screwdriver, ladder, toolbox, wrench, pliers, saw, tape measure, trolley, hand truck, cart,
      screw, nail, hook, key`),
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
  rechargeable laser inkjet mono matte glossy transparent clear opaque double single height heavy-duty`)

/** Parts and aspects of a thing: `assorted colours`, `steel legs`. A segment that ends in one describes. */
export const FEATURES =
  words(`colour colours color colors size sizes style design finish quality material materials legs
  arms armrests wheels castors casters handle handles lid lids frame back seat model brand tip tips weight
  day days week hours shift`)

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

/** Words that end a name and say nothing: `keyboard and mouse set`, `cleaning service`. */
export const TAIL_WORDS =
  words(`set sets kit kits pack packs box-set service services visit visits unit units piece pieces
  model edition version bundle system hd hb led series line`)

export const SYNONYMS: readonly (readonly string[])[] = [
  ['sofa', 'couch', 'settee'],
  ['monitor', 'display', 'screen'],
  ['cabinet', 'cupboard'],
  ['mug', 'cup'],
  ['bin', 'wastebasket', 'trash can'],
  ['refrigerator', 'fridge'],
  ['coffee machine', 'coffee maker', 'espresso machine'],
  ['microwave', 'microwave oven'],
  ['bookcase', 'bookshelf', 'shelf', 'shelving', 'shelving unit'],
  ['lamp', 'light'],
  ['headset', 'headphone'],
  ['television', 'tv'],
  ['telephone', 'phone'],
  ['vacuum', 'vacuum cleaner'],
  ['extension cord', 'extension lead', 'power strip'],
  ['coffee bean', 'coffee', 'bean'],
  ['sanitizer', 'sanitiser'],
  ['desk', 'workstation', 'sit-stand desk'],
  ['cleaner', 'cleaning spray', 'spray'],
  ['mover', 'office move', 'move', 'moving crew', 'crew'],
  ['organiser', 'organizer', 'desk organiser', 'desk organizer'],
  ['notepad', 'pad'],
  ['water bottle', 'bottle'],
  ['divider', 'desk screen', 'screen divider', 'partition'],
]

/** Words so general that an offer need not repeat them. */
export const GENERAL =
  words(`office offices new good nice quality simple basic standard normal professional business team
  staff home work set piece proper decent usual regular item product company brand whole full`)

/** Other words for the same quality, by stem: a standing desk is sold as a sit-stand one. */
export const SAME_QUALITY: readonly (readonly string[])[] = [
  ['standing', 'sit-stand', 'height-adjustable', 'lift'],
  ['big', 'large'],
  ['small', 'compact', 'mini'],
  ['fair-trade', 'fairtrade'],
  ['fireproof', 'fire-resistant'],
  ['wireless', 'bluetooth', 'cordless'],
  ['grey', 'gray'],
  ['cheap', 'budget', 'basic', 'value'],
  ['ultrawide', 'wide'],
]
