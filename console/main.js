/**
 * The operator's console: static files, no build, no dependency, one strict Content-Security-Policy. It may show
 * everything and decide nothing: every act is a request that the gateway judges. It keeps no secret and no state
 * beyond the page; which page it is and which node is chosen stand in the address.
 */
import * as api from './api.js'
import { byId, fill, h, words } from './dom.js'
import { RunPage } from './run.js'
import { holdsPage, runsPage } from './runs.js'
import { createShell } from './shell.js'

function loginPage() {
  if (document.getElementById('code') !== null) return
  byId('nav').hidden = true
  byId('tools').hidden = true
  document.title = 'Sign in · Headgate'
  const code = h('input', {
    id: 'code',
    name: 'code',
    type: 'text',
    required: true,
    autocomplete: 'one-time-code',
    autocapitalize: 'none',
    spellcheck: 'false',
    maxlength: 40,
  })
  const problem = h('p', { class: 'problem', role: 'alert' })
  const submit = h('button', { type: 'submit', class: 'primary' }, 'Sign in')
  const onsubmit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault()
    submit.disabled = true
    try {
      await api.login(code.value.trim())
      location.reload()
    } catch (error) {
      fill(problem, [words(error instanceof Error ? error.message : 'It did not work.', 300)])
      submit.disabled = false
      code.select()
    }
  }
  fill(byId('main'), [
    h(
      'form',
      { class: 'login', onsubmit },
      h('h1', {}, 'Sign in'),
      h(
        'p',
        { class: 'muted' },
        'The gateway prints a one-time code when it starts; `headgate login-code` makes another.',
      ),
      h('label', { for: 'code' }, 'One-time code'),
      code,
      submit,
      problem,
    ),
  ])
  code.focus()
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** @param {any} session */
function openPage(session) {
  const [, first, id] = location.pathname.split('/', 3).map(decoded)
  const title = first === 'holds' ? 'Held payments' : first === 'runs' && id ? 'Run' : 'Runs'
  let read = () => {}
  const shell = createShell(title, () => {
    shell.check()
    read()
  })
  shell.frozen(session.frozen)
  if (first === 'holds') read = holdsPage(shell, id)
  else if (first === 'runs' && id) {
    const page = new RunPage(id, shell)
    read = () => page.read()
  } else read = runsPage(shell, session.demo)
}

window.addEventListener('signed-out', loginPage)
api.session().then(openPage, (error) => {
  if (error.status === 401) return
  fill(byId('main'), [
    h('h1', {}, 'The gateway does not answer'),
    h('p', {}, words(error.message, 300)),
    h('p', {}, h('a', { href: location.pathname }, 'Try again')),
  ])
})
