import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { audit } from './audit-log.js';

/** The token bucket of a network. Times are those of `performance.now()`. */
interface Bucket {
  /** Failures left at the time `at`. */
  left: number;
  at: number;
  reportedAt: number;
}

/** Limits the failed authentications of each network with a token bucket. Successful ones are free. */
export class FailureBudget {
  private readonly buckets = new LRUCache<string, Bucket>({ max: 10_000 });

  /** @param rate - failures that are added each second, up to `burst` */
  constructor(
    private readonly burst: number,
    private readonly rate: number,
  ) {}

  /** Whether any network of the address has no failures left. Audited at most once a minute per network. */
  isSpent(address: string): boolean {
    return networksOf(address).some((network) => {
      const bucket = this.bucketOf(network);
      const isSpent = bucket.left < 1;
      if (isSpent && bucket.at - bucket.reportedAt >= 60_000) {
        bucket.reportedAt = bucket.at;
        const reason = `more than ${this.burst} failed authentications at once, or more than ${this.rate} per second; if this is a load balancer, set TRUSTED_PROXIES`;
        audit('authentication.refused-by-budget', { actor: network, reason });
      }
      return isSpent;
    });
  }

  /** Failures that a network has left; below 1 when none is left. */
  leftOf(network: string): number {
    return this.bucketOf(network).left;
  }

  /** Counts a failure. Concurrent look-ups can make the budget negative. */
  spend(address: string): void {
    for (const network of networksOf(address)) this.bucketOf(network).left -= 1;
  }

  private bucketOf(network: string): Bucket {
    const bucket = this.buckets.get(network) ?? { left: Infinity, at: 0, reportedAt: -Infinity };
    this.buckets.set(network, bucket);
    // A /48 gets ten times the budget of a /64.
    const factor = network.endsWith('/48') ? 10 : 1;
    const now = performance.now();
    bucket.left = Math.min(this.burst * factor, bucket.left + ((now - bucket.at) / 1000) * this.rate * factor);
    bucket.at = now;
    return bucket;
  }
}

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
