import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { audit } from './audit-log.js';

/** Limits the failed authentications of each network with a token bucket. Successful ones are free. */
export class FailureBudget {
  /** When the bucket of a network is full again, by `performance.now()`. */
  private readonly fullAt = new LRUCache<string, number>({ max: 10_000 });
  private readonly reported = new LRUCache<string, true>({ max: 10_000, ttl: 60_000, ttlResolution: 0 });

  /** @param rate - failures that are added each second, up to `burst` */
  constructor(
    private readonly burst: number,
    private readonly rate: number,
  ) {}

  /** Whether any network of the address has no failures left. Audited at most once a minute per network. */
  isSpent(address: string): boolean {
    const spent = networksOf(address).filter((network) => this.leftOf(network) < 1);
    for (const actor of spent.filter((network) => !this.reported.has(network))) {
      this.reported.set(actor, true);
      const reason = `more than ${this.burst} failed authentications at once, or more than ${this.rate} per second; if this is a load balancer, set TRUSTED_PROXIES`;
      audit('authentication.refused-by-budget', { actor, reason });
    }
    return spent.length > 0;
  }

  /** Failures that a network has left; below 1 when none is left. Concurrent look-ups can make it negative. */
  leftOf(network: string): number {
    const missing = Math.max(0, (this.fullAt.get(network) ?? 0) - performance.now()) / 1000;
    return (this.burst - missing * this.rate) * sizeOf(network);
  }

  /** Counts a failure. */
  spend(address: string): void {
    for (const network of networksOf(address)) {
      const start = Math.max(performance.now(), this.fullAt.get(network) ?? 0);
      this.fullAt.set(network, start + 1000 / (this.rate * sizeOf(network)));
    }
  }
}

/** A /48 gets ten times the budget of a /64. */
const sizeOf = (network: string) => (network.endsWith('/48') ? 10 : 1);

/** Address of the client by `TRUSTED_PROXIES`, normalised, IPv4-mapped as IPv4; empty after the connection has closed. */
export function clientAddress({ ip = '', socket: { remoteAddress = '' } }: Pick<Request, 'ip' | 'socket'>): string {
  const address = (ip === remoteAddress || isIP(ip) > 0 ? ip : remoteAddress).replace(/^::ffff:(?=\d+\.)/, '');
  return address.includes(':') ? ipaddr.process(address.replace(/%.*/s, '')).toString() : address;
}

/** Networks of an address, smallest first: the address itself for IPv4; the /64 (one client) and the /48 (one site) for IPv6. */
export function networksOf(address: string): string[] {
  if (!address.includes(':')) {
    return [address];
  }
  return [64, 48].map((bits) => `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`).toString()}/${bits}`);
}
