'use strict'
// The console's whole script. A public client of the authorization server (PKCE, RFC 7636), and of the API.

const ISSUER = `${location.origin}/cis-web/oauth2/v3`
const APP = { client_id: 'console', redirect_uri: `${location.origin}/` }
const MOST_ANSWERS = 20
/** Retries of a refused request, as in the service's own clients. */
const MOST_RETRIES = 10
/** What the story asks for, how many of it at once, and its pause between two steps, so that each can be seen. */
const STORY_PATH = '/platform/tree/search?name=king'
const [SIDE_BY_SIDE, BURST] = [3, 5]
const STORY_PAUSE_MS = 1_200
/** The story takes about 25 s. It ends here, whatever it waits for. */
const STORY_MS = 45_000
/** A time in the queue that is worth showing. */
const QUEUED_MS = 200
/** The check of a token is measured, too, but not charged. A greater difference is time of an ended window. */
const UNCHARGED_MS = 100

const RESOURCES = [
  { name: 'Status', says: 'open, not throttled', path: '/platform/status' },
  { name: 'Current user', says: 'who is signed in', path: '/platform/users/current' },
  { name: 'A person', says: 'Ada Lovelace', path: '/platform/tree/persons/LWB1-ADA' },
  { name: 'Search', says: 'slow, own window', path: '/platform/tree/search?name=king' },
  { name: 'Places', says: 'visitors may, too', path: '/platform/places?q=london' },
  { name: 'Dates', says: 'visitors may, too', path: '/platform/dates?date=10%20Dec%201815' },
]

/** @type {(id: string) => any} every element that is asked for stands in the page */
const $ = (id) => document.getElementById(id)
/** By name: budgetMs, usedMs, and by the page's clock when the window began to be known and when it ends. */
const windows = new Map()
/** Requests under way: the window they are expected to drain, and since when. */
const underWay = new Set()
/** Which window a path turned out to be in. */
const windowOf = new Map()
/** Limits and lengths of the windows, before any answer tells them. */
const SEARCHES = '/platform/tree/search'
const [LIMIT_MS, WINDOW_MS, SEARCH_LIMIT_MS, SEARCH_WINDOW_MS] = [
  ...['limit-ms', 'window-ms', 'search-limit-ms', 'search-window-ms'],
].map((name) => Number(/** @type {HTMLMetaElement} */ (document.querySelector(`meta[name=${name}]`)).content))
let session = JSON.parse(sessionStorage.getItem('session') ?? 'null')
let calls = 0

start().catch((err) => say(`That did not work: ${err.message}`, true))

async function start() {
  for (const { name, says, path } of RESOURCES) {
    const button = element('button', {}, element('strong', {}, name), element('span', {}, says))
    button.addEventListener('click', () => void call(path))
    $('calls').append(element('li', {}, button))
  }
  $('sign-in').addEventListener('click', () => void signIn())
  $('visit').addEventListener('click', () => void visit())
  $('sign-out').addEventListener('click', () => void signOut())
  $('terms').textContent =
    `Each user may use ${LIMIT_MS / 1_000} s of processing time per ${WINDOW_MS / 1_000} s, over all apps. ` +
    `Searches have a limit of their own: ${SEARCH_LIMIT_MS / 1_000} s per ${SEARCH_WINDOW_MS / 1_000} s.`
  $('play').addEventListener('click', () => void play())
  showFreshWindow()
  $('force').addEventListener('submit', (event) => {
    event.preventDefault()
    void call(`/platform/throttled?processingTime=${$('force-ms').value}`)
  })
  requestAnimationFrame(everyFrame)
  await comeBack()
  showSession()
}

// --- Sessions

async function signIn() {
  const [state, verifier] = [secret(), secret()]
  sessionStorage.setItem('sign-in', JSON.stringify({ state, verifier }))
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  const params = { response_type: 'code', ...APP, scope: 'openid profile email', state }
  const pkce = { code_challenge: base64url(new Uint8Array(digest)), code_challenge_method: 'S256' }
  location.assign(`${ISSUER}/authorization?${new URLSearchParams({ ...params, ...pkce })}`)
}

/** The authorization server has sent the browser back with a code, or with the reason why not. */
async function comeBack() {
  const params = new URLSearchParams(location.search)
  if (!params.has('state')) return
  history.replaceState(null, '', '/') // a code is not for the history, nor for bookmarks
  const begun = JSON.parse(sessionStorage.getItem('sign-in') ?? 'null')
  sessionStorage.removeItem('sign-in')
  if (begun?.state !== params.get('state')) return say('This sign-in did not begin here. Sign in again.', true)
  if (!params.has('code')) return say(params.get('error_description') ?? 'You are not signed in.', true)
  const form = { grant_type: 'authorization_code', ...APP, code: params.get('code'), code_verifier: begun.verifier }
  await openSession(form, 'You are signed in.')
}

/** @param {AbortSignal} [signal] */
async function visit(signal) {
  const form = { grant_type: 'unauthenticated_session', client_id: 'visitor-app', ip_address: '127.0.0.1' }
  await openSession(form, 'This is an unauthenticated session: places and dates are open to it, nothing else.', signal)
}

/** @param {AbortSignal} [signal] */
async function openSession(form, done, signal) {
  const answer = await fetch(`${ISSUER}/token`, { method: 'POST', body: new URLSearchParams(form), signal })
  const tokens = await answer.json()
  if (!answer.ok) return say(`${answer.status} ${tokens.error}: ${tokens.error_description ?? ''}`, true)
  keepSession(tokens)
  say(done)
}

async function signOut() {
  const headers = { Authorization: `Bearer ${session.access_token}` }
  const answer = await fetch('/platform/logout', { method: 'POST', headers })
  keepSession(null)
  say(answer.ok ? 'You are signed out, and the token opens nothing more.' : `The API answered ${answer.status}.`)
  $('sign-in').focus()
}

function keepSession(tokens) {
  session = tokens
  if (tokens) sessionStorage.setItem('session', JSON.stringify(tokens))
  else sessionStorage.removeItem('session')
  showFreshWindow()
  showSession()
}

/** The sum is visible from the start. */
function showFreshWindow() {
  windows.clear()
  $('gauges').replaceChildren()
  windows.set('default', { budgetMs: LIMIT_MS, usedMs: 0, lengthSec: WINDOW_MS / 1_000, endsAt: 0 })
  windows.set(SEARCHES, { budgetMs: SEARCH_LIMIT_MS, usedMs: 0, lengthSec: SEARCH_WINDOW_MS / 1_000, endsAt: 0 })
  windowOf.set(SEARCHES, SEARCHES)
  $('force-ms').value = LIMIT_MS + 1
  for (const name of windows.keys()) addGauge(name)
}

function showSession() {
  const claims = decoded(session?.id_token)?.payload ?? decoded(session?.access_token)?.payload
  const name = claims?.given_name ?? claims?.givenName
  $('who').textContent = !session ? 'Nobody is signed in.' : name ? `Signed in: ${name}` : 'A visitor, not signed in'
  $('sign-in').hidden = Boolean(session?.id_token)
  $('visit').hidden = Boolean(session)
  $('sign-out').hidden = !session
  $('no-tokens').hidden = Boolean(session)
  const shown = ['access_token', 'id_token'].filter((name) => session?.[name])
  $('decoded').replaceChildren(...shown.map((name) => tokenView(name, session[name])))
}

function tokenView(name, token) {
  const parts = decoded(token)
  if (!parts) return element('p', {}, `${name}: opaque`)
  const view = (title, json) =>
    element('div', {}, element('h3', {}, title), code(`${name}, ${title}`, JSON.stringify(json, undefined, 2)))
  const expires = new Date(parts.payload.exp * 1_000).toLocaleTimeString([], { hourCycle: 'h23' })
  const summary = element(
    'summary',
    {},
    element('span', { class: 'path' }, name),
    element('small', {}, `until ${expires}`),
  )
  return element('details', {}, summary, view('claims', parts.payload), view('header', parts.header))
}

function decoded(token) {
  const parts = token?.split('.')
  if (parts?.length !== 3) return undefined
  const [header, payload] = parts.slice(0, 2).map((part) => {
    const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
    return JSON.parse(new TextDecoder().decode(bytes))
  })
  return { header, payload }
}

// --- The story

async function play() {
  const story = new AbortController()
  const timer = setTimeout(() => story.abort(), STORY_MS)
  $('play').disabled = true
  $('budget').scrollIntoView({ block: 'nearest' }) // on a phone it is below the fold
  try {
    await tell(story.signal)
  } catch (err) {
    step(undefined)
    const late = `The story ends after ${STORY_MS / 1_000} s: the window lasts longer, or others use up its time.`
    say(story.signal.aborted ? late : `That did not work: ${err.message}`, true)
  } finally {
    clearTimeout(timer)
    $('play').disabled = false
    $('play').textContent = 'Play it again'
  }
}

/**
 * Searches side by side until the limit is used up, waits as long as the refusal says, and searches again.
 *
 * @param {AbortSignal} signal ends each wait
 */
async function tell(signal) {
  if (!session) await visit(signal)
  if (!session) return
  step('search')
  await searches(SIDE_BY_SIDE, signal)
  await pause(STORY_PAUSE_MS, signal)
  step('burst')
  let last
  // A window may end during a burst: then the next one is filled.
  for (let round = 0; last === undefined && round < 5; round++) {
    last = (await searches(BURST, signal)).find((answer) => answer?.status === 429)
  }
  if (last === undefined) return step(undefined)
  step('refusal')
  const refused = $('log').querySelector('b.spent')?.closest('details')
  if (refused) refused.open = true
  say('429: the limit is used up. Retry-After says for how long.', true)
  await pause(STORY_PAUSE_MS, signal)
  while (last?.status === 429) {
    step('wait')
    for (let left = Number(last.headers.get('Retry-After')); left > 0; left--) {
      $('story-left').textContent = ` ${left} s`
      await pause(1_000, signal)
    }
    last = await call(STORY_PATH, MOST_RETRIES, signal)
  }
  step(last?.ok ? 'let-in' : undefined)
}

/** @returns {Promise<(Response | undefined)[]>} the answers, in the order of the requests */
function searches(count, signal) {
  return Promise.all(Array.from({ length: count }, () => call(STORY_PATH, MOST_RETRIES, signal)))
}

/** Marks one step as the present one and those before it as done. */
function step(name) {
  const steps = [...$('steps').children]
  const now = steps.findIndex((one) => one.dataset.step === name)
  for (const [i, one] of steps.entries()) {
    one.classList.toggle('done', i < now)
    if (i === now) one.setAttribute('aria-current', 'step')
    else one.removeAttribute('aria-current')
  }
  $('story-left').textContent = ''
}

function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, ms)
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

// --- Calls

/**
 * Resolves with the answer; undefined where there was none. Rejects where the signal ended it.
 *
 * @param {AbortSignal} [signal]
 */
async function call(path, retries = 0, signal) {
  const url = $('service-dialect').checked ? `${path}${path.includes('?') ? '&' : '?'}dialect=familysearch` : path
  const headers = session ? { Authorization: `Bearer ${session.access_token}` } : {}
  const request = { window: windowOf.get(path.split('?')[0]), since: performance.now() }
  underWay.add(request)
  const waiting = element('li', {}, pathOf(path), element('span', { class: 'cost' }))
  Object.assign(request, { line: waiting })
  $('under-way').append(waiting)
  try {
    const answer = await fetch(url, { headers, cache: 'no-store', signal })
    const body = await answer.text()
    underWay.delete(request)
    learnWindows(path, answer.headers)
    const entry = showAnswer(path, answer, body, performance.now() - request.since)
    drawGauges()
    const cost = answer.headers.get('X-PROCESSING-TIME')
    const told = `${path.split('?')[0]}: ${answer.status} ${answer.statusText}`
    if (answer.status === 429) refused(path, entry, Number(answer.headers.get('Retry-After')), retries)
    else say(cost === null ? told : `${told}, ${costOf(answer)}`)
    return answer
  } catch (err) {
    if (signal?.aborted) throw err
    say(`${path}: no answer (${err.message})`, true)
  } finally {
    underWay.delete(request)
    waiting.remove()
  }
}

/** Shows how long to wait, and waits it out if that is wanted. */
function refused(path, entry, retryAfterSec, retries) {
  const again = $('retry').checked && retries < MOST_RETRIES
  const why = `Too Many Requests: no time left for ${retryAfterSec} s.`
  say(again ? `429 ${why} It will be tried again then.` : `429 ${why}`, true)
  if (!again) return
  const due = performance.now() + retryAfterSec * 1_000
  const left = element('span', {}, '')
  const cancel = element('button', {}, 'Do not try again')
  const line = element('p', { class: 'retry' }, left, cancel)
  entry.append(line)
  const timer = setInterval(tick, 200)
  tick()
  cancel.addEventListener('click', () => {
    stop()
    say('It is not tried again.')
  })

  function tick() {
    const ms = due - performance.now()
    left.textContent = `Again in ${Math.max(0, Math.ceil(ms / 1_000))} s`
    if (ms > 0) return
    stop()
    void call(path, retries + 1)
  }

  function stop() {
    clearInterval(timer)
    line.remove()
  }
}

function showAnswer(path, answer, body, tookMs) {
  const cost = answer.headers.get('X-PROCESSING-TIME')
  const queuedMs = tookMs - Number(cost)
  const queued = cost !== null && queuedMs >= QUEUED_MS ? `, ${(queuedMs / 1_000).toFixed(1)} s in the queue` : ''
  const fields = [...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
  const raw = `HTTP/1.1 ${answer.status} ${answer.statusText}\n${fields}\n\n${body}`
  const kind = answer.ok ? 'good' : answer.status === 429 ? 'spent' : 'bad'
  const summary = element(
    'summary',
    {},
    element('b', { class: kind }, String(answer.status)),
    pathOf(path),
    element('span', { class: 'cost' }, cost === null ? '' : costOf(answer) + queued),
  )
  for (const old of $('log').querySelectorAll('details[open]')) old.open = false
  const details = element('details', answer.status === 429 ? { open: '' } : {}, summary)
  const window = windowOf.get(path.split('?')[0])
  if (answer.status === 429 && window !== undefined) details.append(gaugeOf(window)) // the one that refused
  details.append(code(`Answer ${++calls} as the client got it`, raw))
  const entry = element('li', {}, details)
  $('no-answers').hidden = true
  $('log').prepend(entry)
  while ($('log').children.length > MOST_ANSWERS) $('log').lastChild.remove()
  return entry
}

/** What a request cost. Where the window ended while it ran, the sum of the new window has a part of it. */
function costOf(answer) {
  const costMs = Number(answer.headers.get('X-PROCESSING-TIME'))
  const used = answer.headers.get('X-THROTTLE-MILLIS-USED')
  const isSplit = used !== null && Number(used) + UNCHARGED_MS < costMs
  return `${costMs} ms${isSplit ? `, over the end of a window: ${used} ms used in the new one` : ''}`
}

// --- Budgets

/** What an answer says of its windows: RateLimit for their names and ends, X-THROTTLE-* to the millisecond. */
function learnWindows(path, headers) {
  const now = performance.now()
  const limits = [...(headers.get('RateLimit') ?? '').matchAll(/"([^"]*)";r=(\d+);t=(\d+)/g)]
  const policies = [...(headers.get('RateLimit-Policy') ?? '').matchAll(/"([^"]*)";q=(\d+);qu="milliseconds";w=(\d+)/g)]
  for (const [i, [, name, leftMs, endsInSec]] of limits.entries()) {
    const [, , budgetMs, lengthSec] = policies[i]
    const exact = limits.length === 1 && headers.get('X-THROTTLE-MILLIS-USED')
    const usedMs = exact ? Number(exact) : budgetMs - leftMs
    windows.set(name, { budgetMs: Number(budgetMs), usedMs, lengthSec, endsAt: now + endsInSec * 1_000 })
    windowOf.set(path.split('?')[0], name)
    if (document.querySelector(`#gauges [data-window="${CSS.escape(name)}"]`)) continue
    addGauge(name)
    if (name === 'default') $('force-ms').value = Number(budgetMs) + 1
  }
  // A refusal says only when the window ends: it is spent until then.
  const retryAfterSec = Number(headers.get('Retry-After'))
  const spent = windows.get(windowOf.get(path.split('?')[0]))
  if (limits.length === 0 && retryAfterSec > 0 && spent) {
    spent.usedMs = Math.max(spent.usedMs, spent.budgetMs)
    spent.endsAt = now + retryAfterSec * 1_000
  }
}

function addGauge(name) {
  $('gauges').querySelector('.empty')?.remove()
  $('gauges').append(gaugeOf(name))
}

/** Drawn at every frame, wherever on the page it stands. */
function gaugeOf(name) {
  const meter = { role: 'meter', 'aria-label': `Processing time left, window ${name}`, 'aria-valuemin': '0' }
  const gauge = element('div', { class: 'gauge', 'data-window': name })
  gauge.append(
    element('p', { class: 'name' }, ...breakable(name)),
    element('p', { class: 'left' }),
    element('div', { class: 'bar', ...meter }, element('div', { class: 'fill' })),
    element('p', { class: 'terms' }),
    element('p', { class: 'end' }),
  )
  return gauge
}

function everyFrame() {
  drawGauges()
  requestAnimationFrame(everyFrame)
}

function drawGauges() {
  const now = performance.now()
  for (const { line, since } of underWay) write(line.lastChild, `waiting ${((now - since) / 1_000).toFixed(1)} s`)
  for (const gauge of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('.gauge'))) {
    const window = windows.get(gauge.dataset.window)
    if (!window) continue
    if (now >= window.endsAt) window.usedMs = 0
    // Time is spent while a request runs, so the gauge does not wait for the answer.
    let running = 0
    for (const { window: its, since } of underWay) if (its === gauge.dataset.window) running += now - since
    const { budgetMs } = window
    // Some of them may wait in the queue, at no cost, so the estimate ends at the limit.
    const usedMs = Math.max(window.usedMs, Math.min(budgetMs, window.usedMs + running))
    const leftMs = Math.max(0, budgetMs - usedMs)
    const endsInMs = Math.max(0, window.endsAt - now)
    const bar = gauge.querySelector('.bar')
    gauge.classList.toggle('low', leftMs < budgetMs / 4)
    write(gauge.querySelector('.left'), `${(leftMs / 1_000).toFixed(1)} s left`)
    const used = (usedMs / 1_000).toFixed(1)
    write(gauge.querySelector('.terms'), `${used} of ${budgetMs / 1_000} s used in ${window.lengthSec} s`)
    write(
      gauge.querySelector('.end'),
      endsInMs > 0 ? `window ends in ${Math.ceil(endsInMs / 1_000)} s` : 'a fresh window',
    )
    bar.setAttribute('aria-valuemax', String(budgetMs))
    bar.setAttribute('aria-valuenow', String(Math.round(leftMs)))
    bar.setAttribute('aria-valuetext', `${(leftMs / 1_000).toFixed(1)} of ${budgetMs / 1_000} seconds left`)
    const fill = /** @type {HTMLElement} */ (bar.firstChild)
    fill.style.transform = `scaleX(${leftMs / budgetMs})`
  }
}

// --- The page

function say(text, isBad = false) {
  $('said').textContent = text
  $('said').classList.toggle('bad', isBad)
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text
}

/** Text that may be wider or longer than its place: a keyboard can scroll it. */
function code(label, text) {
  return element('pre', { tabindex: '0', role: 'region', 'aria-label': label }, text)
}

function pathOf(path) {
  return element('span', { class: 'path' }, ...breakable(path))
}

/** A path breaks after its slashes and before its query. */
function breakable(path) {
  return path.split(/(?<=\/)|(?=\?)/).flatMap((part) => [part, element('wbr', {})])
}

/** Children are elements or text, never markup. */
function element(name, attributes, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.append(...children)
  return made
}

function secret() {
  return base64url(crypto.getRandomValues(new Uint8Array(32)))
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
