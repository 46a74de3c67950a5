import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { audit } from './audit-log.js';

/** The token bucket of a network, with times of `performance.now()`. */
interface Bucket {
  /** Failures that it may still cause, as of `at`. */
  left: number;
  at: number;
  reportedAt: number;
}

/** Bounds the failed authentications of each network. Those that succeed cost nothing. */
export class FailureBudget {
  private readonly buckets = new LRUCache<string, Bucket>({ max: 10_000 });

  /**
   * @param burst - failures at once
   * @param rate - failures more each second
   */
  constructor(
    private readonly burst: number,
    private readonly rate: number,
  ) {}

  /** Whether a network of the address has no failure left. The audit log has that once a minute at most for each network. */
  isSpent(address: string): boolean {
    return networksOf(address).some((network) => {
      const bucket = this.bucketOf(network);
      const isSpent = bucket.left < 1;
      if (isSpent && bucket.at - bucket.reportedAt >= 60_000) {
        bucket.reportedAt = bucket.at;
        const reason = `more failed authentications than ${this.burst} at once and ${this.rate} a second; if this is a load balancer, set TRUSTED_PROXIES`;
        audit('authentication.refused-by-budget', { actor: network, reason });
      }
      return isSpent;
    });
  }

  /** Failures that a network has left; less than 1 when it is spent. */
  leftOf(network: string): number {
    return this.bucketOf(network).left;
  }

  /** Counts a failure. It may leave a debt where others were under way. */
  spend(address: string): void {
    for (const network of networksOf(address)) this.bucketOf(network).left -= 1;
  }

  private bucketOf(network: string): Bucket {
    const bucket = this.buckets.get(network) ?? { left: Infinity, at: 0, reportedAt: -Infinity };
    this.buckets.set(network, bucket);
    // A /48 may fail ten times as often as each /64 in it.
    const factor = network.endsWith('/48') ? 10 : 1;
    const now = performance.now();
    bucket.left = Math.min(this.burst * factor, bucket.left + ((now - bucket.at) / 1000) * this.rate * factor);
    bucket.at = now;
    return bucket;
  }
}

/**
 * Address of the client: what `TRUSTED_PROXIES` say it is, or the other end of the connection.
 *
 * @returns it in one spelling, IPv4 as such, without a zone; empty once the connection is gone
 */
export function clientAddress({ ip = '', socket: { remoteAddress = '' } }: Pick<Request, 'ip' | 'socket'>): string {
  const address = (ip === remoteAddress || isIP(ip) > 0 ? ip : remoteAddress).replace(/^::ffff:(?=\d+\.)/, '');
  return address.includes(':') ? ipaddr.process(address.replace(/%.*/s, '')).toString() : address;
}

/** Networks of an address, the smallest first: IPv4 itself; of IPv6 the /64, which is one client's, and the /48, which may be. */
export function networksOf(address: string): string[] {
  if (!address.includes(':')) {
    return [address];
  }
  return [64, 48].map((bits) => `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`).toString()}/${bits}`);
}
