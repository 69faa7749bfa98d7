import { BlockList, isIP } from 'node:net'

/** Addresses that are not on the public Internet: the special-purpose registries (RFC 6890), multicast and reserved ones. */
const SPECIAL = new BlockList()
for (const range of (
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 ' +
  '192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 2001::/23 2001:db8::/32 2002::/16 3fff::/20'
).split(' ')) {
  const [net = '', bits] = range.split('/')
  SPECIAL.addSubnet(net, Number(bits), net.includes(':') ? 'ipv6' : 'ipv4')
}
/** Global unicast (RFC 4291 §2.4). What lies outside, such as mapped and NAT64 addresses, may lead to an inner IPv4 host. */
const GLOBAL = new BlockList()
GLOBAL.addSubnet('2000::', 3, 'ipv6')

/** Whether an IP address is on the public Internet. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4) return !SPECIAL.check(address, 'ipv4')
  return isIP(address) === 6 && GLOBAL.check(address, 'ipv6') && !SPECIAL.check(address, 'ipv6')
}

/** Whether the host is this machine: a loopback address, `localhost`, or a name below it (RFC 6761 §6.3). */
export function isLoopbackHost(hostname: string): boolean {
  return /^(([a-z0-9_-]+\.)*localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
}

/** Whether only a local network knows the host: a name of docker compose (`auth`), `nas.local`, an address that is not public. */
export function isInnerHost(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '')
  if (isIP(address) !== 0) return !isPublicAddress(address)
  return !hostname.includes('.') || /\.(localhost|local|internal|lan|home\.arpa)$/.test(hostname)
}
