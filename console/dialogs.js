/** One native dialog that says what will happen, asks, does it, and then says what did happen. */
import { fill, h, words } from './dom.js'

/**
 * @param {object} options
 * @param {string} options.title
 * @param {import('./dom.js').Child[]} options.body what stops, in words
 * @param {string} options.verb of the button, with its count
 * @param {boolean} [options.danger]
 * @param {() => Promise<any>} options.act
 * @param {(answer: any) => import('./dom.js').Child[]} options.outcome
 */
export function confirm({ title, body, verb, danger, act, outcome }) {
  const before = document.activeElement
  const content = h('div', { class: 'dialog-body' }, ...body)
  const buttons = h('div', { class: 'actions end' })
  const heading = h('h2', { id: 'dialog-title' }, title)
  const dialog = h('dialog', { 'aria-labelledby': 'dialog-title' }, heading, content, buttons)
  const close = () => dialog.close()
  const go = h('button', { type: 'button', class: danger ? 'danger' : 'primary' }, verb)
  go.addEventListener('click', async () => {
    go.disabled = true
    try {
      fill(content, outcome(await act()))
      const done = h('button', { type: 'button', onclick: close }, 'Close')
      fill(buttons, [done])
      done.focus()
    } catch (error) {
      const why = error instanceof Error ? error.message : 'It did not work.'
      content.append(h('p', { class: 'problem', role: 'alert' }, words(why, 300)))
      go.disabled = false
    }
  })
  fill(buttons, [h('button', { type: 'button', onclick: close }, 'Cancel'), go])
  dialog.addEventListener('close', () => {
    dialog.remove()
    if (before instanceof HTMLElement && before.isConnected) before.focus()
  })
  document.body.append(dialog)
  dialog.showModal()
}
