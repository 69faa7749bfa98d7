'use strict'
const SVG = 'http://www.w3.org/2000/svg'
const STEP_MS = 5_000
/** @type {(id: string) => any} every element that is asked for stands in the page */
const $ = (id) => document.getElementById(id)
const csrf = /** @type {HTMLMetaElement} */ (document.querySelector('meta[name=csrf]')).content
/** What is wanted of the subjects. */
const view = { find: '', sort: 'spent', most: 25 }
/** What each chart shows, by its element. */
const charts = new WeakMap()
let events
let typing

$('pause').addEventListener('click', () => {
  const paused = events !== undefined
  if (paused) {
    events.close()
    events = undefined
    $('live').textContent = 'Paused'
  } else listen()
  $('pause').setAttribute('aria-pressed', String(paused))
})
$('view').addEventListener('submit', (event) => {
  event.preventDefault()
  look({ find: $('find').value })
})
$('find').addEventListener('input', () => {
  clearTimeout(typing)
  typing = setTimeout(() => look({ find: $('find').value }), 300)
})
$('sort').addEventListener('change', () => look({ sort: $('sort').value }))
$('more').addEventListener('click', () => look({ most: Math.min(400, view.most * 2) }))
$('reset').addEventListener('submit', (event) => {
  event.preventDefault()
  const name = $('reset-name').value
  if (confirm(`Reset the usage of ${name}, in every process?`)) void reset({ name })
})
document.addEventListener('keydown', ({ key }) => {
  const tip = /** @type {HTMLElement} */ (document.activeElement)
  if (key === 'Escape' && tip.classList.contains('tip')) tip.blur()
})
listen()

/** Asks for another view; a paused page shows it and stays paused no longer. */
function look(changed) {
  Object.assign(view, changed)
  events?.close()
  listen()
  $('pause').setAttribute('aria-pressed', 'false')
}

function listen() {
  $('live').textContent = 'Connecting…'
  const params = { find: view.find, sort: view.sort, most: String(view.most) }
  events = new EventSource(`events?${new URLSearchParams(params)}`)
  events.onmessage = ({ data }) => show(JSON.parse(data))
  events.onerror = () => {
    // The browser connects again by itself, but not where it was answered no.
    $('live').textContent = events.readyState === EventSource.CLOSED ? 'No answer. Load the page again.' : 'Connecting…'
  }
}

async function reset(who) {
  try {
    const headers = { 'X-CSRF-Token': csrf }
    const answer = await fetch('reset', { method: 'POST', headers, body: new URLSearchParams(who) })
    const json = (answer.headers.get('Content-Type') ?? '').startsWith('application/json')
    say(json ? (await answer.json()).message : `It was not done: ${answer.status}`, !answer.ok)
  } catch (err) {
    say(`It was not done: ${err.message}`, true)
  }
}

function show({ at, source, trouble, subjects, found, totals, admitted, refused, refusals, routes, store }) {
  $('live').textContent = source === 'redis' ? 'Live, all processes' : 'Live, this process'
  $('trouble').hidden = !trouble
  write($('trouble'), trouble ? `${trouble}. Subjects are as this process knows them.` : '')
  write($('refused'), String(refused.aMinute))
  write($('admitted'), String(admitted.aMinute))
  write($('hold'), duration(totals.holdMs))
  write($('hold-note'), `for ${totals.running} running`)
  chart($('refused-chart'), 'Refused requests', refused.points, at, count)
  chart($('admitted-chart'), 'Admitted requests', admitted.points, at, count)
  showStore(store, at)
  const all = `${totals.more ? 'more than ' : ''}${totals.subjects}`
  write($('totals'), `${all} with time spent, ${duration(totals.spentMs)} in all`)
  write($('count'), view.find ? `${subjects.length} of ${found} found` : `${subjects.length} of ${all}`)
  $('more').hidden = subjects.length === found || view.most >= 400
  write($('no-subjects'), view.find ? 'No subject fits.' : 'Nobody has spent time in a window that is open now.')
  $('no-subjects').hidden = subjects.length > 0
  $('no-refusals').hidden = refusals.length > 0
  $('no-routes').hidden = routes.length > 0
  keep($('subjects'), subjects, ({ subject }) => subject, subjectItem, showSubject)
  const kind = (one) => [one.subject, one.route, one.window, one.reason, one.dryRun].join('\n')
  keep($('refusals'), refusals, kind, refusalItem, showRefusal)
  keep(
    $('routes'),
    routes,
    ({ route }) => route,
    routeItem,
    (item, route) => showRoute(item, route, at),
  )
}

function showStore({ shared, down, syncMs }, at) {
  $('store').classList.toggle('bad', down.length > 0)
  $('store-chart').hidden = !shared
  if (!shared) {
    write($('store'), 'in memory')
    return write($('store-note'), 'of this process alone')
  }
  const newest = syncMs.slice(-12).findLast((ms) => ms !== null)
  const state = newest === undefined ? 'idle' : milliseconds(newest)
  write($('store'), down.length > 0 ? 'not answering' : state)
  const note = newest === undefined ? 'not asked for a minute' : 'to answer, on average'
  write($('store-note'), down.length > 0 ? `${down.join(', ')}: each process decides alone` : note)
  chart($('store-chart'), 'Answer time of the store', syncMs, at, milliseconds)
}

// --- Lists

function subjectItem({ subject }) {
  const who = element('code', { class: 'who' })
  const button = element('button', { class: 'small' }, 'Reset', element('span', { class: 'unseen' }, ` ${subject}`))
  const hash = element('code', { class: 'hash' })
  const head = element('div', { class: 'head' }, element('p', {}, who, hash), button)
  const item = element('li', { class: 'subject' }, head, element('ul', { class: 'windows' }))
  button.addEventListener('click', () => {
    if (confirm(`Reset the usage of ${who.textContent}, in every process?`)) void reset({ id: subject })
  })
  return item
}

function showSubject(item, { subject, name, known, windows }) {
  write(item.querySelector('.who'), name ?? subject)
  write(item.querySelector('.hash'), name === undefined ? '' : subject)
  item.querySelector('button').hidden = !known
  keep(item.querySelector('.windows'), windows, ({ window }) => window, windowItem, showWindow)
}

function windowItem() {
  const text = element('div', { class: 'text' }, element('p', { class: 'name' }), element('p', { class: 'note' }))
  const bar = element('div', { class: 'bar', 'aria-hidden': 'true' }, element('div', { class: 'fill' }))
  return element('li', {}, text, bar, element('p', { class: 'spent' }))
}

function showWindow(item, { window, spentMs, limitMs, holdMs, running, endsInMs }) {
  write(item.querySelector('.name'), window)
  const now = running > 0 ? `, ${running} running, ${duration(holdMs)} on hold` : ''
  write(item.querySelector('.note'), `ends in ${duration(endsInMs)}${now}`)
  write(item.querySelector('.spent'), seconds(spentMs) + (limitMs === null ? '' : ` of ${seconds(limitMs)}`))
  item.querySelector('.bar').hidden = limitMs === null
  item.querySelector('.fill').style.transform = `scaleX(${Math.min(1, spentMs / (limitMs ?? Infinity))})`
  item.classList.toggle('over', limitMs !== null && spentMs > limitMs)
}

function refusalItem() {
  const text = element('div', { class: 'text' }, element('code', { class: 'who' }), element('p', { class: 'note' }))
  return element('li', { class: 'refusal' }, text, element('p', { class: 'spent' }))
}

function showRefusal(item, { subject, name, route, window, reason, dryRun, count }) {
  write(item.querySelector('.who'), name ?? subject ?? 'other subjects')
  const parts = [route, `window ${window}`, ...(reason ? [reason] : []), ...(dryRun ? ['dry run: let through'] : [])]
  write(item.querySelector('.note'), parts.join(' · '))
  write(item.querySelector('.spent'), count === 1 ? '1 request' : `${count} requests`)
}

function routeItem() {
  const text = element('div', { class: 'text' }, element('code', { class: 'who' }), element('p', { class: 'note' }))
  return element('li', { class: 'route' }, text, element('div', { class: 'chart' }), element('p', { class: 'spent' }))
}

function showRoute(item, { route, requests, ms }, at) {
  write(item.querySelector('.who'), route)
  write(item.querySelector('.note'), requests === 1 ? '1 request' : `${requests} requests`)
  write(item.querySelector('.spent'), duration(ms.aMinute))
  chart(item.querySelector('.chart'), `Processing time of ${route}`, ms.points, at, duration)
}

/** Brings a list up to date and keeps the elements that stay, and the focus where it was. */
function keep(list, items, keyOf, make, update) {
  const old = new Map([...list.children].map((child) => [child.dataset.key, child]))
  const focused = /** @type {HTMLElement} */ (document.activeElement)
  for (const [i, item] of items.entries()) {
    const key = keyOf(item)
    const child = old.get(key) ?? make(item)
    child.dataset.key = key
    old.delete(key)
    if (list.children[i] !== child) list.insertBefore(child, list.children[i] ?? null)
    update(child, item)
  }
  for (const child of old.values()) child.remove()
  if (document.activeElement !== focused && list.contains(focused)) focused.focus()
}

// --- Charts

/** A line over five minutes with its scale, and each point's value under the pointer or the arrow keys. */
function chart(box, label, points, at, format) {
  if (!charts.has(box)) buildChart(box, label)
  charts.set(box, { ...charts.get(box), points, at, format })
  const [width, height] = [120, 40]
  const most = Math.max(0, ...points)
  const y = (value) => (height - 1 - (most > 0 ? value / most : 0) * (height - 3)).toFixed(1)
  const x = (i) => ((i * width) / (points.length - 1)).toFixed(1)
  let line = ''
  for (const [i, value] of points.entries()) {
    if (value === null) continue
    line += `${line === '' || points[i - 1] === null ? 'M' : 'L'}${x(i)},${y(value)}`
  }
  box.querySelector('.line').setAttribute('d', line)
  const gaps = points.includes(null)
  box.querySelector('.area').setAttribute('d', gaps || line === '' ? '' : `${line}L${width},${height}L0,${height}Z`)
  write(box.querySelector('.most'), most > 0 ? format(most) : '')
  point(box, charts.get(box).shown)
}

function buildChart(box, label) {
  const svg = document.createElementNS(SVG, 'svg')
  svg.setAttribute('viewBox', '0 0 120 40')
  svg.setAttribute('preserveAspectRatio', 'none')
  svg.setAttribute('aria-hidden', 'true')
  for (const name of ['area', 'line']) {
    const path = document.createElementNS(SVG, 'path')
    path.setAttribute('class', name)
    svg.append(path)
  }
  const range = { role: 'slider', tabindex: '0', 'aria-label': label, 'aria-valuemin': '-300', 'aria-valuemax': '0' }
  const plot = element('div', { class: 'plot', ...range }, svg, element('div', { class: 'cursor' }))
  const axis = element('p', { class: 'axis', 'aria-hidden': 'true' })
  axis.append(element('span', {}, '−5 min'), element('span', { class: 'value' }), element('span', {}, 'now'))
  box.append(element('p', { class: 'most', 'aria-hidden': 'true' }), plot, axis)
  charts.set(box, { shown: undefined })
  plot.addEventListener('pointermove', ({ clientX }) => {
    const { left, width } = plot.getBoundingClientRect()
    const last = charts.get(box).points.length - 1
    point(box, Math.max(0, Math.min(last, Math.round(((clientX - left) / width) * last))))
  })
  plot.addEventListener('pointerleave', () => point(box, undefined))
  plot.addEventListener('focus', () => point(box, charts.get(box).points.length - 1))
  plot.addEventListener('blur', () => point(box, undefined))
  plot.addEventListener('keydown', (event) => {
    const { shown, points } = charts.get(box)
    const last = points.length - 1
    const to = { ArrowLeft: (shown ?? last) - 1, ArrowRight: (shown ?? last) + 1, Home: 0, End: last }[event.key]
    if (to === undefined) return
    event.preventDefault()
    point(box, Math.max(0, Math.min(last, to)))
  })
}

/** Shows one point's value and time. The newest point is not over yet. */
function point(box, shown) {
  const { points, at, format } = Object.assign(charts.get(box), { shown })
  const [plot, cursor] = [box.querySelector('.plot'), box.querySelector('.cursor')]
  const i = shown ?? points.length - 1
  const ago = (i - points.length + 1) * (STEP_MS / 1_000)
  const value = points[i] === null ? 'not asked' : format(points[i])
  const time = new Date(Math.floor(at / STEP_MS) * STEP_MS + ago * 1_000).toLocaleTimeString()
  plot.setAttribute('aria-valuenow', String(ago))
  plot.setAttribute('aria-valuetext', `${value} at ${time}`)
  cursor.hidden = shown === undefined
  cursor.style.left = `${(i / (points.length - 1)) * 100}%`
  write(box.querySelector('.value'), shown === undefined ? '' : `${value} · ${time}`)
}

// --- The page

function say(text, isBad) {
  $('said').hidden = false
  $('said').textContent = text
  $('said').classList.toggle('bad', isBad)
}

function count(n) {
  return `${n} in 5 s`
}

function milliseconds(ms) {
  return `${ms.toFixed(1)} ms`
}

function seconds(ms) {
  return `${(ms / 1_000).toFixed(1)} s`
}

/** As exact as anybody wants to know. */
function duration(ms) {
  if (ms > 0 && ms < 10) return milliseconds(ms)
  if (ms < 1_000) return `${Math.round(ms)} ms`
  return ms < 120_000 ? seconds(ms) : `${Math.round(ms / 60_000)} min`
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text
}

/** Children are elements or text, never markup. */
function element(name, attributes, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value)
  made.append(...children)
  return made
}
