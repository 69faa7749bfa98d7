/** How subjects may be sorted. */
export const SORTS = ['spent', 'share', 'hold', 'ends'] as const

/** What one viewer wants to see of the subjects. */
export interface View {
  /** A part of a name or of a hash, or a whole subject as `req.throttle.subject` has it; empty: all. */
  readonly find: string
  /** The hash of that subject. */
  readonly id: string
  /** `spent` and `hold`: the most time first; `share`: who is nearest to a limit; `ends`: whose window ends next. */
  readonly sort: (typeof SORTS)[number]
  /** How many are shown: 25 to 400. */
  readonly most: number
}

const LONGEST_FIND = 200
const [FEWEST, MOST] = [25, 400]

/** Reads a view out of the query of the stream's address. What makes no sense there is taken as not said. */
export function viewOf(url: string, hashOf: (subject: string) => string): View {
  const query = url.indexOf('?')
  const params = new URLSearchParams(query === -1 ? '' : url.slice(query))
  const sort = SORTS.find((one) => one === params.get('sort')) ?? 'spent'
  const most = Number(params.get('most') ?? FEWEST)
  const find = (params.get('find') ?? '').trim().slice(0, LONGEST_FIND)
  const shown = Number.isInteger(most) ? Math.min(MOST, Math.max(FEWEST, most)) : FEWEST
  return { find, id: hashOf(find), sort, most: shown }
}
