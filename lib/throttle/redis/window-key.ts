/** Names the format of the records. A later one that this one could not read or would damage has another name. */
const FORMAT = 'w2'

/** The key of a subject's window. On a Cluster all windows of a subject are in one slot. */
export function windowKey(prefix: string, id: string, number: number, window: string): string {
  return `${prefix}${FORMAT}:{${id}}:${number}:${window}`
}

/** A pattern of SCAN that all windows' keys match. */
export function windowKeyPattern(prefix: string): string {
  return `${prefix.replace(/[\\*?[\]^]/g, '\\$&')}${FORMAT}:{*}:*:*`
}

/** What a key says; undefined for one that is no window's. */
export function parseWindowKey(prefix: string, key: string): { id: string; window: string } | undefined {
  const [, id, window] = /^w2:\{([\w-]{24})\}:\d+:(.*)$/s.exec(key.slice(prefix.length)) ?? []
  return id === undefined || window === undefined ? undefined : { id, window }
}
