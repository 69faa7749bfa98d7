import { isIPv4, isIPv6 } from 'node:net'

/**
 * The addresses that are counted together: one IPv4 address, also when mapped into IPv6, or one /56 of IPv6, because a
 * single host can pick any address of its network.
 */
export function addressGroup(ip: string): string {
  const plain = ip.replace(/%.*$/, '').toLowerCase()
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1]
  if (mapped !== undefined && isIPv4(mapped)) return mapped
  if (!isIPv6(plain)) return plain
  const [head = '', tail] = plain.split('::')
  const start = head === '' ? [] : head.split(':')
  const end = tail === undefined || tail === '' ? [] : tail.split(':')
  const groups =
    tail === undefined ? start : [...start, ...Array<string>(8 - start.length - end.length).fill('0'), ...end]
  const [a, b, c, d] = groups.map((group) => parseInt(group, 16))
  return [a, b, c, (d as number) & 0xff00].map((n) => (n as number).toString(16)).join(':') + '::/56'
}
