import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { chart } from './chart'
import { Figures, type Results, median } from './figures'
import { GROUPS, type GroupName } from './groups'
import { CONNECTIONS } from './load-parameters'
import type { Slice } from './measure'
import { idle, pinned } from './processes'
import { type TargetResult, targets } from './targets'

export interface Report {
  readonly text: string
  /** The machine and the targets alone. */
  readonly short: string
  readonly svg: string
}

type Figure = (slice: Slice) => number

/** As text, and as a picture. */
export function report(results: Results): Report {
  const figures = new Figures(results.measured)
  const tables = (Object.keys(GROUPS) as GroupName[]).flatMap((group) => tableOf(figures, group))
  const short = [machine(results), '', '### Targets', '', ...targetTable(targets(results, figures))]
  return { text: [...short, ...tables, ''].join('\n'), short: short.join('\n'), svg: chart(figures) }
}

/** The Node whose figures docs/PERFORMANCE.md has in full, with the chart. */
const REFERENCE = 24
const DOCS = join(__dirname, '../../docs')
const MAJOR = Number(process.versions.node.split('.')[0])

/** Puts the report in its place in docs/PERFORMANCE.md: in full on the reference, on any other Node what it came to. */
export function writeReport({ text, short, svg }: Report): void {
  const file = join(DOCS, 'PERFORMANCE.md')
  const page = readFileSync(file, 'utf8')
  if (MAJOR !== REFERENCE)
    return writeFileSync(file, withPart(page, ` -- --node ${MAJOR}`, `## On Node ${MAJOR}`, short))
  writeFileSync(file, withPart(page, '', '## The last full run', text))
  writeFileSync(join(DOCS, 'performance.svg'), svg)
}

/** The page with what `npm run bench${how}` made in place of what it made before, or at the end under a title. */
function withPart(page: string, how: string, title: string, text: string): string {
  const [begin, end] = [`<!-- made by npm run bench${how} -->`, `<!-- end of what npm run bench${how} made -->`]
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  const part = `${begin}\n\n${how === '' ? text.trim() : text.trim().replace(/^###/gm, '####')}\n\n${end}`
  if (from === -1 || to === -1) return `${page.trimEnd()}\n\n${title}\n\n${part}\n`
  return page.slice(0, from) + part + page.slice(to + end.length)
}

function machine({ parameters, minutes }: Results): string {
  const { rounds, sliceMs, warmMs } = parameters
  const [{ model } = { model: 'unknown' }] = cpus()
  const where = pinned
    ? `servers on one core, load and Redis on the other${idle ? ', which never sleeps' : ''}`
    : 'nothing pinned to a core'
  return [
    `${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${cpus().length} × ${model.trim()}, ` +
      `${Math.round(totalmem() / 2 ** 30)} GB; ${where}. ${rounds} rounds of ${sliceMs} ms with each process, ` +
      `after ${warmMs} ms of warming, on Redis ${GROUPS.redis.warms} times as long, ${CONNECTIONS} connections; ${Math.round(minutes)} minutes in all.`,
  ].join('\n')
}

function targetTable(results: readonly TargetResult[]): string[] {
  const rows = results.map(({ work, target, measured, met }) => [work, target, measured, met ? 'yes' : 'no'])
  return table(['Work', 'Target', 'Measured', 'Met'], rows)
}

function tableOf(figures: Figures, group: GroupName): string[] {
  const rows = figures.measured[group]
  if (!rows) return []
  const loads = [...new Set(rows.map(({ load }) => load))]
  return loads.flatMap((load) => {
    const those = rows.filter((row) => row.load === load)
    const bare = figures.row(group, 'bare', load) ?? figures.row(group, 'bare 429', load)
    const fields = figures.row(group, 'bare+fields', load)
    const lines = those.map((row) => {
      const { contestant, slices } = row
      const of = (figure: Figure) => median(slices.map(figure))
      return [
        contestant,
        of((s) => s.perSec).toFixed(0),
        figures.paired(row, bare, (a, b) => a.perSec / b.perSec).toFixed(2),
        shown(
          figures.paired(row, fields, (a, b) => a.perSec / b.perSec),
          2,
        ),
        of((s) => s.p50Ms).toFixed(2),
        of((s) => s.p99Ms).toFixed(2),
        of((s) => s.p999Ms).toFixed(2),
        of((s) => s.loopMs).toFixed(1),
        of((s) => s.cpuUs).toFixed(1),
        figures.paired(row, bare, (a, b) => a.cpuUs - b.cpuUs).toFixed(1),
        shown(
          of((s) => s.scripts?.perRequest ?? NaN),
          3,
        ),
        shown(
          of((s) => s.scripts?.us ?? NaN),
          1,
        ),
      ]
    })
    const floor = group === 'refused' ? 'bare 429' : 'bare'
    const titles = [
      '',
      'requests/s',
      `/ ${floor}`,
      '/ bare+fields',
      'p50 ms',
      'p99 ms',
      'p99.9 ms',
      'loop ms',
      'CPU µs',
      `µs over ${floor}`,
      'scripts',
      'µs each',
    ]
    // Columns that nobody in this table has a figure for are left out.
    const kept = titles.map((_, i) => lines.some((line) => line[i] !== ''))
    const only = (cells: readonly string[]) => cells.filter((_, i) => kept[i])
    const title = loads.length === 1 ? GROUPS[group].title : `${GROUPS[group].title}: ${load}`
    return ['', `### ${title}`, '', ...table(only(titles), lines.map(only))]
  })
}

function table(titles: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [titles, ...rows]
  const widths = titles.map((_, i) => Math.max(3, ...all.map((cells) => (cells[i] as string).length)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] as number)).join(' | ')} |`
  return [line(titles), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)]
}

function shown(figure: number, digits: number): string {
  return Number.isNaN(figure) ? '' : figure.toFixed(digits)
}
