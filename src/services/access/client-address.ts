import ipaddr from 'ipaddr.js';

/**
 * What counts as one client when attempts are counted: an IPv4 address, or the /64 network of an IPv6 address, of which a
 * single client has all.
 */
export function clientKey(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${(parsed as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
