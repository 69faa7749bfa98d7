import { isIPv4, isIPv6 } from 'node:net'

/** The network of every client without an IP address. They share one budget. */
export const UNKNOWN_NETWORK = 'unknown'

/** Bits of an IPv6 address that stand for a client, where nothing else is stated. */
export const IPV6_PREFIX = 56

/** A port, and what a proxy may put around an address that has one: `203.0.113.9:50001`, `[2001:db8::1]:50001`. */
const BRACKETS = /^\[([^\]]*)\](?::\d*)?$/
const PORT = /:\d{0,5}$/

/**
 * The network that stands for an address: an IPv4 address itself, in every IPv6 spelling too (mapped, RFC 4291 §2.5.5.2;
 * NAT64, RFC 6052 §2.1); of an IPv6 address the /56, since one host can have all of that to itself (RFC 6177). Ports,
 * brackets and zone ids are left out.
 *
 * @param ipv6Prefix another length of the IPv6 network, in bits: 32 to 128
 * @returns undefined where it is no IP address, such as that of a Unix socket
 */
export function networkOf(address: unknown, ipv6Prefix = IPV6_PREFIX): string | undefined {
  if (typeof address !== 'string') return undefined
  if (isIPv4(address)) return address
  const text = address.trim()
  const bare = (BRACKETS.exec(text)?.[1] ?? text).split('%', 1)[0] as string
  return networkOfBare(bare, ipv6Prefix) ?? networkOfBare(bare.replace(PORT, ''), ipv6Prefix)
}

/**
 * The block that a network is in: what a provider hands out together, an IPv4 /16 or an IPv6 /32. An attacker easily has
 * many addresses of one block, and rarely addresses of many.
 *
 * @param network as {@link networkOf} has it
 * @example '203.0.0.0/16', '2001:db8::/32'
 */
export function blockOf(network: string): string {
  if (isIPv4(network)) return `${network.split('.', 2).join('.')}.0.0/16`
  return network.includes(':') ? `${network.split(':', 2).join(':')}::/32` : network
}

function networkOfBare(address: string, ipv6Prefix: number): string | undefined {
  if (isIPv4(address)) return address
  if (!isIPv6(address)) return undefined
  const groups = groupsOf(address)
  if (isIPv4Prefix(groups)) return ipv4Of(groups)
  const kept = groups.slice(0, Math.ceil(ipv6Prefix / 16))
  const masked = kept.map((group, i) => group & (0xffff << Math.max(0, 16 * (i + 1) - ipv6Prefix)))
  return `${masked.map((group) => group.toString(16)).join(':')}${kept.length < 8 ? '::' : ''}/${ipv6Prefix}`
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  const [head = [], tail] = address.split('::').map(groupsIn)
  if (tail === undefined) return head
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

function groupsIn(part: string): number[] {
  if (part === '') return []
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [parseInt(group, 16)]
    const [a, b, c, d] = group.split('.').map(Number) as [number, number, number, number]
    return [a * 256 + b, c * 256 + d]
  })
}

/** `::ffff:0:0/96` and `64:ff9b::/96`. */
const IPV4_PREFIXES = ['0,0,0,0,0,65535', '100,65435,0,0,0,0']

function isIPv4Prefix(groups: readonly number[]): boolean {
  return IPV4_PREFIXES.includes(groups.slice(0, 6).join())
}

function ipv4Of(groups: readonly number[]): string {
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.')
}
