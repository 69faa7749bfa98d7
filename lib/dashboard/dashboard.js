'use strict'
const SVG = 'http://www.w3.org/2000/svg'
const STEP_MS = 5_000
const ADVICE_EVERY_MS = 30_000
/** From this share of the limit on, a subject is near it. */
const NEAR = 0.8
/** Shorter blocking is not worth a notice. */
const BLOCKED_MS = 500
const REASONS = {
  spent: 'limit used up',
  reserved: 'running requests have reserved the rest',
  concurrency: 'too many requests run at once',
  queue: 'too many requests wait already',
  outage: 'the store does not answer, and this process’s share is used up',
  overload: 'this process is overloaded, and the user asks for more than its part',
}
/** The same beside a count. */
const BRIEF = {
  spent: 'limit used up',
  reserved: 'limit reserved',
  concurrency: 'too many at once',
  queue: 'queue full',
  outage: 'store outage',
  overload: 'overload',
}
/** @type {(id: string) => any} every element that is asked for stands in the page */
const $ = (id) => document.getElementById(id)
const csrf = /** @type {HTMLMetaElement} */ (document.querySelector('meta[name=csrf]')).content
/** What is wanted of the subjects. */
const view = { find: '', sort: 'spent', most: 25 }
/** What each chart shows, by its element. */
const charts = new WeakMap()
let events
let typing
/** The newest figures. */
let latest
const app = /** @type {HTMLMetaElement} */ (document.querySelector('meta[name=app]')).content || location.host
document.title = `${app}: throttle dashboard`
$('app').textContent = ` of ${app}`

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
  if (confirm(`Reset the usage of ${name}, in every process?`)) void reset({ name }, name)
})
$('dismiss').addEventListener('click', () => {
  $('said').hidden = true
  $('pause').focus()
})
// The rows keep their places while the pointer is over them: nobody clicks on a row that was another's a moment ago.
$('subjects').addEventListener('pointerleave', () => latest && showSubjects(latest))
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

/** @param label whose usage it is, as the page shows it */
async function reset(who, label) {
  try {
    const headers = { 'X-CSRF-Token': csrf }
    const answer = await fetch('reset', { method: 'POST', headers, body: new URLSearchParams(who) })
    if (answer.ok) return say(`The usage of ${label} was reset.`, false)
    const json = (answer.headers.get('Content-Type') ?? '').startsWith('application/json')
    say(`${label}: ${json ? (await answer.json()).message : `not reset, ${answer.status}`}`, true)
  } catch (err) {
    say(`${label}: not reset, ${err.message}`, true)
  }
}

function show(news) {
  latest = news
  const { at, source, trouble, totals, admitted, refused, reasons, refusals, routes, store, overload, blockedMs } = news
  $('live').textContent = 'Live'
  $('trouble').hidden = !trouble
  write($('trouble'), trouble ? `${trouble}. Subjects are as this process knows them.` : '')
  $('overload').hidden = !overload
  write($('overload'), overload ? overloadText(overload) : '')
  $('blocked').hidden = blockedMs < BLOCKED_MS
  const blocked = `Handlers blocked the event loop for ${duration(blockedMs)} of the last minute`
  write(
    $('blocked'),
    `${blocked}: all requests of this process waited. The route with the longest mean, below, is the likely cause.`,
  )
  write($('refused'), String(refused.aMinute))
  write($('reasons'), reasons.map(({ reason, count }) => `${BRIEF[reason] ?? BRIEF.outage}: ${count}`).join(', '))
  write($('admitted'), String(admitted.aMinute))
  write($('hold'), duration(totals.holdMs))
  write($('hold-note'), `for ${totals.running} running, ${whose(source)}`)
  chart($('refused-chart'), 'Refused requests', refused.points, at, count)
  chart($('admitted-chart'), 'Admitted requests', admitted.points, at, count)
  showStore(store, at)
  showSubjects(news)
  $('no-refusals').hidden = refusals.length > 0
  $('no-routes').hidden = routes.length > 0
  const ends = refusedUntil(news)
  const share = (ms) => ms / routes.reduce((sum, { ms }) => sum + ms.aMinute, 0)
  keep(
    $('refusals'),
    refusals,
    ({ subject }) => subject ?? '',
    refusalItem,
    (item, refusal) => showRefusal(item, refusal, ends, at),
  )
  keep(
    $('routes'),
    routes,
    ({ route }) => route,
    routeItem,
    (item, route) => showRoute(item, route, share(route.ms.aMinute), at),
  )
}

function overloadText({ share, delayMs, refusedRequests }) {
  const part = `It lets in ${Math.round(share * 100)} % of the work that it is asked for`
  return `This process is overloaded. ${part}, and has refused ${requests(refusedRequests)} so far. The event loop is ${milliseconds(delayMs)} late.`
}

function whose(source) {
  return source === 'redis' ? 'all processes' : 'this process'
}

function showStore({ shared, down, meanwhile, processes, syncMs }, at) {
  $('store').classList.toggle('bad', down.length > 0)
  $('store-chart').hidden = !shared
  if (!shared) {
    write($('store'), 'in memory')
    write($('processes'), '')
    return write($('store-note'), 'each process for itself')
  }
  const newest = syncMs.slice(-12).findLast((ms) => ms !== null)
  const state = newest === undefined ? 'idle' : milliseconds(newest)
  write($('store'), down.length > 0 ? 'no answer' : state)
  const note = newest === undefined ? 'not asked for a minute' : 'average answer time, this process'
  const silent = down.map(({ server, sinceMs, cause }) => `${server} since ${clockTime(at - sinceMs, at)}, ${cause}`)
  write($('store-note'), down.length > 0 ? `${silent.join(', ')}: ${meanwhile}` : note)
  const live = processes === 1 ? '1 process lives' : `${processes} processes live`
  write($('processes'), down.length > 0 ? `${live}, as last heard` : live)
  chart($('store-chart'), 'Answer time of the store', syncMs, at, milliseconds)
}

// --- The table

function showSubjects({ at, source, dryRun, subjects, found, totals }) {
  const all = `${totals.more ? 'more than ' : ''}${totals.subjects}`
  write(
    $('totals'),
    `${all} ${all === '1' ? 'subject' : 'subjects'} used ${duration(totals.spentMs)}, ${whose(source)}`,
  )
  write($('count'), view.find ? `${subjects.length} of ${found} found` : `${subjects.length} of ${all}`)
  $('more').hidden = subjects.length === found || view.most >= 400
  write($('no-subjects'), view.find ? 'No subject fits.' : 'Nobody has used time in an open window.')
  $('no-subjects').hidden = subjects.length > 0
  $('subjects').hidden = subjects.length === 0
  const update = (group, subject) => showSubject(group, subject, dryRun, at)
  const stays = $('subjects').matches(':hover')
  keep($('subjects'), subjects, ({ subject }) => subject, subjectGroup, update, stays)
}

/** The cells of each subject that stand in its first row, whichever that is. */
const own = new WeakMap()

function subjectGroup({ subject }) {
  const group = element('tbody', { role: 'rowgroup' })
  const name = element('code', { class: 'who' }, element('span', { class: 'who-begins' }), element('span', {}))
  const button = element('button', { class: 'small' }, 'Reset', element('span', { class: 'unseen' }))
  button.addEventListener('click', () => {
    const label = String(name.textContent)
    if (confirm(`Reset the usage of ${label}, in every process?`)) void reset({ id: subject }, label)
  })
  const who = element('th', { role: 'rowheader', scope: 'rowgroup' }, name)
  own.set(group, { name, button, who, action: element('td', { role: 'cell', class: 'action' }, button) })
  return group
}

function showSubject(group, { subject, name: given, known, windows }, dryRun, at) {
  const { name, button, who, action } = own.get(group)
  const isFocused = document.activeElement === button
  const label = given ?? subject
  writeName(name.firstElementChild, label.slice(0, -12))
  writeName(name.lastElementChild, label.slice(-12))
  who.title = given === undefined ? '' : `${given}, ${subject}`
  write(button.lastElementChild, ` ${label}`)
  button.hidden = !known
  const update = (row, window) => showWindow(row, window, dryRun, at)
  keep(group, windows, ({ window }) => window, windowRow, update)
  const [first] = group.children
  if (who.parentNode !== first) first.prepend(who)
  if (action.parentNode !== first) first.append(action)
  for (const cell of [who, action]) cell.setAttribute('rowspan', String(windows.length))
  if (isFocused) button.focus()
}

function windowRow() {
  const cell = (name, ...children) => element('td', { role: 'cell', class: name }, ...children)
  const bar = element('div', { class: 'bar', 'aria-hidden': 'true' }, element('div', { class: 'fill' }))
  const used = cell('used', element('div', { class: 'amount' }, bar, element('span', { class: 'spent' })))
  return element('tr', { role: 'row' }, cell('name'), used, cell('state'), cell('running'), cell('held'))
}

function showWindow(row, { window, spentMs, limitMs, holdMs, running, waiting, endsInMs }, dryRun, at) {
  const { kind, text } = stateOf(spentMs, limitMs, waiting, at + endsInMs, dryRun)
  row.className = kind
  writeName(row.querySelector('.name'), window)
  write(row.querySelector('.spent'), seconds(spentMs) + (limitMs === null ? '' : ` of ${seconds(limitMs)}`))
  write(row.querySelector('.state'), text)
  row.querySelector('.state').title = `window ends at ${clockTime(at + endsInMs, at)}`
  write(row.querySelector('.running'), String(running))
  write(row.querySelector('.held'), holdMs > 0 ? duration(holdMs) : '–')
  row.querySelector('.bar').hidden = limitMs === null
  row.querySelector('.fill').style.transform = `scaleX(${Math.min(1, spentMs / (limitMs ?? Infinity))})`

  function stateOf(spentMs, limitMs, waiting, endsAt, dryRun) {
    if (limitMs !== null && spentMs >= limitMs) {
      return { kind: 'over', text: dryRun ? 'over limit, dry run' : `refused until ${clockTime(endsAt, at)}` }
    }
    if (waiting > 0) return { kind: 'waits', text: `waiting ${waiting}` }
    if (limitMs !== null && spentMs >= NEAR * limitMs) return { kind: 'near', text: 'near limit' }
    return { kind: 'ok', text: 'ok' }
  }
}

// --- Lists

function refusalItem() {
  const head = element('p', { class: 'head' }, element('code', { class: 'who' }), element('span', { class: 'spent' }))
  return element('li', { class: 'refusal' }, head, element('p', { class: 'until' }), element('ul', { class: 'kinds' }))
}

/** When the windows end of those who are over their limits: the table and the list of refusals say the same. */
function refusedUntil({ at, subjects }) {
  const over = subjects.map(({ subject, windows }) => {
    const ends = windows.filter(({ spentMs, limitMs }) => limitMs !== null && spentMs >= limitMs)
    return [subject, Math.max(...ends.map(({ endsInMs }) => at + endsInMs))]
  })
  return new Map(over.filter(([, end]) => end > at))
}

function showRefusal(item, { subject, name, count, sinceMs, againInMs, kinds }, ends, at) {
  writeName(item.querySelector('.who'), name ?? subject ?? 'other subjects')
  write(item.querySelector('.spent'), requests(count))
  const isRefused = againInMs > 0 && kinds.some(({ dryRun }) => !dryRun)
  item.classList.toggle('past', !isRefused)
  write(
    item.querySelector('.until'),
    isRefused
      ? `refused since ${clockTime(at - sinceMs, at)} until ${clockTime(ends.get(subject) ?? at + againInMs, at)}`
      : `refused since ${clockTime(at - sinceMs, at)}, not now`,
  )
  const key = ({ route, window, reason, dryRun }) => [route, window, reason, dryRun].join('\n')
  keep(item.querySelector('.kinds'), kinds, key, kindItem, showKind)
}

function kindItem() {
  const route = element('p', {}, element('code', { class: 'route-name' }), element('span', { class: 'spent' }))
  return element('li', {}, route, element('p', { class: 'note' }))
}

function showKind(item, { route, window, reason, dryRun, count }) {
  writeName(item.querySelector('.route-name'), route)
  write(item.querySelector('.spent'), String(count))
  const why = REASONS[reason] ?? 'the store does not answer'
  writeName(item.querySelector('.note'), `${why}, window ${window}${dryRun ? '; let in, dry run' : ''}`)
}

function routeItem() {
  const text = element('div', { class: 'text' }, element('code', { class: 'who' }), element('p', { class: 'note' }))
  return element('li', { class: 'route' }, text, element('div', { class: 'chart' }), element('p', { class: 'spent' }))
}

function timesText({ meanMs, p95Ms }) {
  return `mean ${duration(meanMs)}, p95 ${duration(p95Ms)}`
}

function showRoute(item, { route, requests: n, ms, times, anHourAgo }, share, at) {
  writeName(item.querySelector('.who'), route)
  const before = anHourAgo ? `; an hour ago ${timesText(anHourAgo)}` : ''
  write(item.querySelector('.note'), requests(n) + (times ? `, ${timesText(times)}${before}` : ''))
  const part = ms.aMinute > 0 ? `, ${Math.round(share * 100)} %` : ''
  write(item.querySelector('.spent'), duration(ms.aMinute) + part)
  chart(item.querySelector('.chart'), `Processing time of ${route}`, ms.points, at, duration)
}

/**
 * Brings a list up to date and keeps the elements that stay, and the focus where it was.
 *
 * @param stays each element keeps its place, also one that is no more; new ones come last
 */
function keep(list, items, keyOf, make, update, stays = false) {
  const keys = items.map(keyOf)
  const old = new Map()
  const focused = /** @type {HTMLElement} */ (document.activeElement)
  let last = null
  for (const child of [...list.children]) {
    const { key } = child.dataset
    const wanted = key === undefined || keys.includes(key)
    if (!wanted && !stays) child.remove()
    else if (key !== undefined) old.set(key, child)
    child.classList.toggle('gone', !wanted)
    if (key === undefined || (stays && child.isConnected)) last = child
  }
  for (const [i, item] of items.entries()) {
    const known = old.get(keys[i])
    const child = known ?? make(item)
    child.dataset.key = keys[i]
    if (!(stays && known)) {
      const next = last === null ? list.firstElementChild : last.nextElementSibling
      if (next !== child) list.insertBefore(child, next)
      last = child
    }
    update(child, item)
  }
  if (document.activeElement !== focused && list.contains(focused)) focused.focus()
}

// --- Choose a limit

/** What the advisor says of each window, and what is looked at. */
const advisor = { all: [], source: 'process', from: 1, to: 1, limitMs: undefined }

function startAdvisor() {
  $('limit-hours').addEventListener('change', () => void askAdvisor())
  $('limit-window').addEventListener('change', () => {
    advisor.limitMs = undefined
    showAdvice()
  })
  $('limit').addEventListener('input', () => {
    advisor.limitMs = limitAt($('limit').value / $('limit').max)
    showLimit(chosenAdvice())
  })
  $('limit-view').addEventListener('submit', (event) => event.preventDefault())
  setInterval(() => document.hidden || events === undefined || void askAdvisor(), ADVICE_EVERY_MS)
  void askAdvisor()
}

async function askAdvisor() {
  try {
    const answer = await fetch(`advice?hours=${$('limit-hours').value}`)
    const { advice, source, message } = await answer.json()
    if (!answer.ok) return write($('limit-note'), message)
    Object.assign(advisor, { all: advice, source })
    showAdvice()
  } catch {
    write($('limit-note'), 'No answer.')
  }
}

function chosenAdvice() {
  return advisor.all[Math.max(0, $('limit-window').selectedIndex)]
}

function showAdvice() {
  const names = advisor.all.map(({ window }) => window)
  if ([...$('limit-window').options].map(({ value }) => value).join('\n') !== names.join('\n')) {
    $('limit-window').replaceChildren(...names.map((name) => element('option', { value: name }, name)))
  }
  const advice = chosenAdvice()
  const { distribution: bars, limitMs: present, refusedRequests, warning, windowMs } = advice
  const refused = refusedRequests > 0 && !warning ? `; ${requests(refusedRequests)} would have been refused` : ''
  write(
    $('limit-note'),
    `how much time users take per window of ${windowMs < 120_000 ? limit(windowMs) : duration(windowMs)}, ${whose(advisor.source)}${refused}`,
  )
  $('no-advice').hidden = bars.length > 0
  $('advice').hidden = bars.length === 0
  if (bars.length === 0) return
  const at = present ?? advice.quantilesMs.p99
  advisor.from = Math.max(1, Math.min(bars[0].fromMs, at / 20))
  advisor.to = Math.max(bars[bars.length - 1].toMs, at * 5)
  advisor.limitMs ??= at
  $('limit').value = String(Math.round(placeOf(advisor.limitMs) * $('limit').max))
  $('limit-warning').hidden = !warning
  write($('limit-warning'), warning ?? '')
  drawDistribution(bars, present)
  showLimit(advice)
}

/** The sentence that says what the limit would have meant. */
function showLimit({ distribution: bars, subjectWindows: all, quantilesMs, limitMs: present }) {
  const { limitMs } = advisor
  const over = Math.round(bars.reduce((sum, bar) => sum + bar.subjectWindows * partAbove(bar, limitMs), 0))
  const percent = (100 * over) / all
  const share = percent === 0 || percent >= 10 ? Math.round(percent) : Number(percent.toPrecision(2))
  const hours = $('limit-hours').selectedOptions[0].textContent
  const of = `(${over.toLocaleString('en')} of ${all.toLocaleString('en')})`
  const text = `At ${limit(limitMs)}, ${share} % of windows of users ${of} would have had refusals in ${hours}; `
  write($('limit-says'), `${text}p99 is ${limit(quantilesMs.p99)}.`)
  const value = limit(limitMs) + (limitMs === present ? ', the present limit' : '')
  write($('limit-value'), value)
  $('limit').setAttribute('aria-valuetext', value)
  const mark = $('limit-chart').querySelector('.chosen')
  mark.toggleAttribute('hidden', limitMs === present) // the dashed line stands there
  const x = String(placeOf(limitMs) * 1_000)
  for (const end of ['x1', 'x2']) mark.setAttribute(end, x)
  for (const bar of $('limit-chart').querySelectorAll('rect'))
    bar.classList.toggle('above', bar.dataset.from >= limitMs)
}

/** The part of a bar's subject-windows above a limit: they are spread evenly by their logarithm. */
function partAbove({ fromMs, toMs }, limitMs) {
  if (toMs <= limitMs) return 0
  if (fromMs >= limitMs) return 1
  return fromMs === 0 ? 1 - limitMs / toMs : 1 - Math.log(limitMs / fromMs) / Math.log(toMs / fromMs)
}

function drawDistribution(bars, present) {
  const svg = (name, attributes) => {
    const made = document.createElementNS(SVG, name)
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value))
    return made
  }
  const most = Math.max(...bars.map(({ subjectWindows }) => subjectWindows))
  const plot = svg('svg', { viewBox: '0 0 1000 120', preserveAspectRatio: 'none' })
  for (const { fromMs, toMs, subjectWindows } of bars) {
    const [x, end] = [1_000 * placeOf(Math.max(fromMs, advisor.from)), 1_000 * placeOf(toMs)]
    const height = (subjectWindows / most) * 96 // lines show above the highest bar
    const bar = svg('rect', { x, y: 120 - height, width: Math.max(1, end - x - 1), height })
    bar.dataset.from = String(fromMs)
    plot.append(bar)
  }
  if (present !== null) {
    const x = 1_000 * placeOf(present)
    plot.append(svg('line', { class: 'present', x1: x, x2: x, y1: 0, y2: 120 }))
  }
  plot.append(svg('line', { class: 'chosen', x1: 0, x2: 0, y1: 0, y2: 120 }))
  const scale = element('span', {}, 'time used per window, logarithmic')
  const axis = element('p', { class: 'axis' }, element('span', {}, limit(advisor.from)), scale)
  axis.append(element('span', {}, limit(advisor.to)))
  const label = element('p', { class: 'present-label' }, present === null ? '' : `present limit ${limit(present)}`)
  const place = present === null ? 0 : placeOf(present)
  if (place < 0.5) label.style.left = `calc(${100 * place}% + 0.5rem)`
  else label.style.right = `calc(${100 * (1 - place)}% + 0.5rem)`
  $('limit-chart').replaceChildren(label, plot, axis)
}

/** Where a time lies on the logarithmic axis, 0 to 1. */
function placeOf(ms) {
  const { from, to } = advisor
  return Math.min(1, Math.max(0, Math.log(ms / from) / Math.log(to / from)))
}

/** The time at a place, in round figures; near the present limit that one itself. */
function limitAt(place) {
  const { limitMs: present } = chosenAdvice()
  if (present !== null && Math.abs(place - placeOf(present)) < 1 / 400) return present
  return Math.max(1, Number((advisor.from * (advisor.to / advisor.from) ** place).toPrecision(2)))
}

function limit(ms) {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${Number((ms / 1_000).toPrecision(3))} s`
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
  const time = clockTime(Math.floor(at / STEP_MS) * STEP_MS + ago * 1_000, at)
  plot.setAttribute('aria-valuenow', String(ago))
  plot.setAttribute('aria-valuetext', `${value} at ${time}`)
  cursor.hidden = shown === undefined
  cursor.style.left = `${(i / (points.length - 1)) * 100}%`
  write(box.querySelector('.value'), shown === undefined ? '' : `${value} · ${time}`)
}

// --- The page

function say(text, isBad) {
  $('said').hidden = false
  $('said').firstElementChild.textContent = text
  $('said').classList.toggle('bad', isBad)
}

function requests(n) {
  return n === 1 ? '1 request' : `${n} requests`
}

/** The time of day to the second; from twelve hours on to the minute with the weekday, from six days on with the date. */
function clockTime(ms, now) {
  const rounded = new Date(Math.round(ms / 1_000) * 1_000)
  /** @type {Intl.DateTimeFormatOptions} */
  const day = ms - now < 518_400_000 ? { weekday: 'short' } : { day: 'numeric', month: 'short' }
  /** @type {Intl.DateTimeFormatOptions} */
  const more = ms - now < 43_200_000 ? { second: '2-digit' } : day
  return rounded.toLocaleString([], { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', ...more })
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
  if (ms < 120_000) return seconds(ms)
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Number((ms / 3_600_000).toFixed(1))} h`
}

/** A route, a window's name or a subject breaks after its slashes and colons, and before a parameter's colon. */
function writeName(element, text) {
  if (element.textContent === text) return
  element.replaceChildren(...text.split(/(?<=\/|[^/]:)/).flatMap((part) => [part, document.createElement('wbr')]))
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

startAdvisor()
