import type { GroupName, LoadName } from './groups'
import type { Figures } from './figures'
import type { ContestantName } from './server'

const BARS: readonly {
  readonly title: string
  readonly group: GroupName
  readonly load: LoadName
  readonly names: readonly ContestantName[]
}[] = [
  {
    title: 'In memory, one hot user',
    group: 'memory',
    load: 'one hot user',
    names: ['bare+fields', 'throttle(), memory', 'express-rate-limit, memory', 'rate-limiter-flexible, memory'],
  },
  {
    title: 'Redis, one hot user',
    group: 'redis',
    load: 'one hot user',
    names: ['bare+fields', 'throttle(), Redis', 'express-rate-limit, Redis', 'rate-limiter-flexible, Redis'],
  },
  {
    title: 'Redis, 10,000 users',
    group: 'redis',
    load: '10,000 users',
    names: ['bare+fields', 'throttle(), Redis', 'express-rate-limit, Redis', 'rate-limiter-flexible, Redis'],
  },
  {
    title: 'Bearer, RS256',
    group: 'bearer',
    load: 'one token',
    names: [
      'requireBearer()',
      'fast-jwt, cached',
      'express-oauth2-jwt-bearer',
      'express-jwt + jwks-rsa',
      'bearer + limit + throttle(), Redis',
    ],
  },
]

const WIDTH = 760
const LABELS = 250
const LINE = 22

/** Throughput beside bare Express in the same round, as bars: an SVG. */
export function chart(figures: Figures): string {
  const parts: string[] = []
  let y = 34
  for (const { title, group, load, names } of BARS) {
    parts.push(`<text x="12" y="${y}" class="title">${title}</text>`)
    for (const name of names) {
      y += LINE
      const share = figures.paired(
        figures.row(group, name, load),
        figures.row(group, 'bare', load),
        (a, b) => a.perSec / b.perSec,
      )
      if (Number.isNaN(share)) continue
      const width = Math.max(1, share * (WIDTH - LABELS - 70))
      const ours = /throttle\(|requireBearer/.test(name) ? 'ours' : name.startsWith('bare') ? 'floor' : 'peer'
      parts.push(
        `<text x="${LABELS - 8}" y="${y}" text-anchor="end">${name}</text>` +
          `<rect x="${LABELS}" y="${y - 12}" width="${width.toFixed(0)}" height="15" class="${ours}"/>` +
          `<text x="${(LABELS + width + 6).toFixed(0)}" y="${y}">${share.toFixed(2)}</text>`,
      )
    }
    y += LINE + 14
  }
  const style =
    'text{font:12px sans-serif;fill:#222}.title{font-weight:bold}.ours{fill:#1a7f5a}.floor{fill:#999}.peer{fill:#b8c4d0}'
  const one = WIDTH - 70
  const line = `<line x1="${one}" x2="${one}" y1="12" y2="${y - LINE}" stroke="#999" stroke-dasharray="3 3"/>`
  const size = `width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}"`
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size}><title>Requests per second, as a share of bare Express</title><style>${style}</style><rect width="100%" height="100%" fill="#fff"/>${line}${parts.join('\n')}</svg>\n`
}
