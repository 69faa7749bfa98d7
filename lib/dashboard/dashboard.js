'use strict'
const SVG = 'http://www.w3.org/2000/svg'
/** @type {(id: string) => any} every element that is asked for stands in the page */
const $ = (id) => document.getElementById(id)
const csrf = /** @type {HTMLMetaElement} */ (document.querySelector('meta[name=csrf]')).content
let events

$('pause').addEventListener('click', () => {
  const paused = events !== undefined
  if (paused) {
    events.close()
    events = undefined
    $('live').textContent = 'Paused'
  } else listen()
  $('pause').setAttribute('aria-pressed', String(paused))
})
$('reset').addEventListener('submit', (event) => {
  event.preventDefault()
  const name = $('reset-name').value
  if (confirm(`Give ${name} its windows back, in every process?`)) void reset({ name })
})
listen()

function listen() {
  $('live').textContent = 'Connecting…'
  events = new EventSource('events')
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

function show({ source, trouble, subjects, totals, admitted, refused, routes, store }) {
  $('live').textContent = source === 'redis' ? 'Live, all processes' : 'Live, this process'
  $('trouble').hidden = !trouble
  write($('trouble'), trouble ? `${trouble}. Subjects are as this process knows them.` : '')
  write($('refused'), String(refused.aMinute))
  write($('admitted'), String(admitted.aMinute))
  write($('hold'), duration(totals.holdMs))
  write($('hold-note'), `for ${totals.running} running`)
  chart($('refused-chart'), refused.points)
  chart($('admitted-chart'), admitted.points)
  showStore(store)
  write(
    $('totals'),
    `${totals.more ? 'more than ' : ''}${totals.subjects} with time spent, ${duration(totals.spentMs)} in all`,
  )
  $('no-subjects').hidden = subjects.length > 0
  $('no-routes').hidden = routes.length > 0
  keep($('subjects'), subjects, ({ window, subject }) => `${window}\n${subject}`, subjectItem, showSubject)
  keep($('routes'), routes, ({ route }) => route, routeItem, showRoute)
}

function showStore({ shared, down, syncMs }) {
  $('store').classList.toggle('bad', down.length > 0)
  $('store-chart').toggleAttribute('hidden', !shared)
  if (!shared) {
    write($('store'), 'in memory')
    return write($('store-note'), 'of this process alone')
  }
  const newest = syncMs.findLast((ms) => ms !== null)
  write($('store'), down.length > 0 ? 'not answering' : newest === undefined ? 'answers' : `${newest.toFixed(1)} ms`)
  write($('store-note'), down.length > 0 ? `${down.join(', ')}: each process decides alone` : 'to answer, on average')
  chart(
    $('store-chart'),
    syncMs.map((ms) => ms ?? 0),
  )
}

function subjectItem({ subject }) {
  const who = element('code', { class: 'who' })
  const button = element('button', { class: 'small' }, 'Reset', element('span', { class: 'unseen' }, ` ${subject}`))
  const bar = element('div', { class: 'bar', 'aria-hidden': 'true' }, element('div', { class: 'fill' }))
  const text = element('div', { class: 'text' }, who, element('p', { class: 'note' }))
  const item = element('li', { class: 'subject' }, text, element('p', { class: 'spent' }), bar, button)
  button.addEventListener('click', () => {
    if (confirm(`Give ${who.textContent} its windows back, in every process?`)) void reset({ id: subject })
  })
  return item
}

function showSubject(item, { subject, name, window, spentMs, limitMs, holdMs, running, endsInMs, known }) {
  write(item.querySelector('.who'), name ?? subject)
  const now = running > 0 ? `, ${running} running, ${duration(holdMs)} on hold` : ''
  write(item.querySelector('.note'), `${window}, ends in ${duration(endsInMs)}${now}`)
  write(item.querySelector('.spent'), seconds(spentMs) + (limitMs === null ? '' : ` of ${seconds(limitMs)}`))
  item.querySelector('.bar').hidden = limitMs === null
  item.querySelector('.fill').style.transform = `scaleX(${Math.min(1, spentMs / (limitMs ?? Infinity))})`
  item.classList.toggle('over', limitMs !== null && spentMs > limitMs)
  item.querySelector('button').hidden = !known
}

function routeItem() {
  const text = element('div', { class: 'text' }, element('code', { class: 'who' }), element('p', { class: 'note' }))
  const spark = document.createElementNS(SVG, 'svg')
  spark.setAttribute('class', 'spark')
  spark.setAttribute('aria-hidden', 'true')
  return element('li', { class: 'route' }, text, spark, element('p', { class: 'spent' }))
}

function showRoute(item, { route, requests, ms }) {
  write(item.querySelector('.who'), route)
  write(item.querySelector('.note'), requests === 1 ? '1 request' : `${requests} requests`)
  write(item.querySelector('.spent'), duration(ms.aMinute))
  chart(item.querySelector('.spark'), ms.points)
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

/** A line over the highest point's height, and what is below it. */
function chart(svg, points) {
  const [width, height] = [120, 28]
  const most = Math.max(...points, 1e-9)
  const at = points.map((y, x) => {
    return `${((x * width) / (points.length - 1)).toFixed(1)},${(height - 1 - (y / most) * (height - 3)).toFixed(1)}`
  })
  if (svg.childElementCount === 0) {
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`)
    svg.setAttribute('preserveAspectRatio', 'none')
    svg.append(document.createElementNS(SVG, 'polygon'), document.createElementNS(SVG, 'polyline'))
  }
  svg.firstChild.setAttribute('points', `0,${height} ${at.join(' ')} ${width},${height}`)
  svg.lastChild.setAttribute('points', at.join(' '))
}

function say(text, isBad) {
  $('said').hidden = false
  $('said').textContent = text
  $('said').classList.toggle('bad', isBad)
}

function seconds(ms) {
  return `${(ms / 1_000).toFixed(1)} s`
}

/** As exact as anybody wants to know. */
function duration(ms) {
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
