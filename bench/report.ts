import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { chart } from './chart'
import { GROUPS, type GroupName, type LoadName } from './groups'
import { CONNECTIONS, type LoadParameters } from './load-parameters'
import type { Limits, Measured, Memory, Row, Slice } from './measure'
import { pinned } from './processes'
import type { ContestantName } from './server'
import { type TargetResult, targets } from './targets'

export interface Results {
  readonly measured: Partial<Measured>
  readonly limits: Limits
  readonly memory: Memory | undefined
  readonly parameters: LoadParameters
  readonly minutes: number
}

export interface Report {
  readonly text: string
  readonly svg: string
}

type Figure = (slice: Slice) => number

/** Rows by name, and medians over their rounds. */
export class Figures {
  constructor(readonly measured: Partial<Measured>) {}

  row(group: GroupName, contestant: ContestantName, load: LoadName): Row | undefined {
    return this.measured[group]?.find((row) => row.contestant === contestant && row.load === load)
  }

  /** The median over the rounds of a figure that is made of two rows' slices of the same round. */
  paired(one: Row | undefined, other: Row | undefined, of: (one: Slice, other: Slice) => number): number {
    return median(this.each(one, other, of))
  }

  /** The same, round by round. */
  each(one: Row | undefined, other: Row | undefined, of: (one: Slice, other: Slice) => number): number[] {
    if (!one || !other) return []
    return one.slices.map((slice, round) => of(slice, other.slices[round] as Slice))
  }
}

/** As text, and as a picture. */
export function report(results: Results): Report {
  const figures = new Figures(results.measured)
  const tables = (Object.keys(GROUPS) as GroupName[]).flatMap((group) => tableOf(figures, group))
  const text = [machine(results), '', '### Targets', '', ...targetTable(targets(results, figures)), ...tables, ''].join(
    '\n',
  )
  return { text, svg: chart(figures) }
}

const DOCS = join(__dirname, '../../docs')
const BEGIN = '<!-- made by npm run bench -->'
const END = '<!-- end of what npm run bench made -->'

/** Puts the report in its place in docs/PERFORMANCE.md, and the chart beside it. */
export function writeReport({ text, svg }: Report): void {
  const file = join(DOCS, 'PERFORMANCE.md')
  const page = readFileSync(file, 'utf8')
  const [before, after] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (before === -1 || after === -1) throw new Error(`${file} has no ${BEGIN} … ${END}`)
  writeFileSync(file, `${page.slice(0, before)}${BEGIN}\n\n${text.trim()}\n\n${page.slice(after)}`)
  writeFileSync(join(DOCS, 'performance.svg'), svg)
}

function machine({ parameters, minutes }: Results): string {
  const { rounds, sliceMs, warmMs } = parameters
  const [{ model } = { model: 'unknown' }] = cpus()
  const where = pinned ? 'servers on one core, load and Redis on the others' : 'nothing pinned to a core'
  return [
    `${new Date().toISOString().slice(0, 10)}, Node ${process.versions.node}, ${cpus().length} × ${model.trim()}, ` +
      `${Math.round(totalmem() / 2 ** 30)} GB; ${where}. ${rounds} rounds of ${sliceMs} ms a row after ${warmMs} ms of ` +
      `warming, ${CONNECTIONS} connections; ${Math.round(minutes)} minutes in all.`,
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

export function lowerQuartile(figures: readonly number[]): number {
  const sorted = [...figures].sort((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 4)] ?? NaN
}

export function median(figures: readonly number[]): number {
  const sorted = figures.filter((figure) => !Number.isNaN(figure)).sort((a, b) => a - b)
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.ceil((sorted.length - 1) / 2)]]
  return low === undefined || high === undefined ? NaN : (low + high) / 2
}
