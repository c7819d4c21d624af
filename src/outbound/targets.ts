import { lookup as lookUp } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Which addresses, besides public ones, the server may call on behalf of its configuration. */
export interface Targets {
  /**
   * Checks the host of a URL before it is called. A name passes here; its addresses are checked by `lookup`.
   *
   * @throws TargetRefused
   */
  check(hostname: string): void;
  /** Looks a name up and gives only addresses that may be called; TargetRefused when there are none. */
  readonly lookup: LookupFunction;
}

/** An address that must not be called: somebody who may write a URL could reach into the server's own network by it. */
export class TargetRefused extends Error {
  override name = 'TargetRefused';
}

/** Words for a kind of addresses, and the ranges they stand for. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  // Connecting to the unspecified address reaches this machine.
  loopback: ['loopback', 'unspecified'],
  private: ['private', 'uniqueLocal', 'carrierGradeNat'],
};

/** What a rule may be, for settings. */
export const TARGET_RULE = /^(?:loopback|private|[0-9a-f.:]+(?:\/\d{1,3})?|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9])?)$/;

/**
 * Makes the rule for outbound calls. Addresses of this machine, of private networks and those that lead there by other
 * notations are refused unless a rule allows them; link-local ones, where clouds keep their credentials, only by address.
 *
 * @param rules `loopback`, `private`, addresses, ranges in CIDR notation, host names.
 */
export function createTargets(rules: readonly string[]): Targets {
  const ranges = new Set(rules.flatMap((rule) => GROUPS[rule] ?? []));
  const networks = rules.flatMap((rule) => networkOf(rule) ?? []);
  const names = new Set(rules);

  const isAllowed = (address: string): boolean => {
    if (!ipaddr.isValid(address)) return false;
    // An IPv4 address in IPv6's clothes is what it is.
    const parsed = ipaddr.process(address);
    const range = parsed.range();
    if (range === 'unicast' || ranges.has(range)) return true;
    return networks.some(([base, bits]) => base.kind() === parsed.kind() && parsed.match(base, bits));
  };

  return {
    check(hostname) {
      const host = hostname.replace(/^\[|\]$/g, '');
      if (ipaddr.isValid(host) && !isAllowed(host)) throw refused(host);
    },
    lookup(hostname, options, done) {
      lookUp(hostname, { ...options, all: true }, (error, found) => {
        if (error !== null) return done(error, '', 0);
        const trusted = names.has(hostname.toLowerCase());
        const allowed = trusted ? found : found.filter(({ address }) => isAllowed(address));
        const [first] = allowed;
        if (first === undefined) return done(refused(hostname), '', 0);
        if (options.all === true) done(null, allowed);
        else done(null, first.address, first.family);
      });
    },
  };
}

function networkOf(rule: string): [ipaddr.IPv4 | ipaddr.IPv6, number][] | undefined {
  if (ipaddr.isValidCIDR(rule)) return [ipaddr.parseCIDR(rule)];
  if (!ipaddr.isValid(rule)) return undefined;
  const address = ipaddr.process(rule);
  return [[address, address.kind() === 'ipv4' ? 32 : 128]];
}

function refused(host: string): TargetRefused {
  return new TargetRefused(
    `${host} is an address inside the server's network; allow it with SERVICE_ALLOW_PRIVATE_TARGETS`,
  );
}
