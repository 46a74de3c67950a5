import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

/**
 * Address of the client: what `TRUSTED_PROXIES` say it is, or the other end of the connection.
 *
 * @returns it in one spelling, IPv4 as such; empty once the connection is gone
 */
export function clientAddress({ ip, socket }: Pick<Request, 'ip' | 'socket'>): string {
  const address = ip !== undefined && isIP(ip) > 0 ? ip : socket.remoteAddress;
  return address === undefined ? '' : spellings.memo(address);
}

/** Each address in its one spelling, as it came: a flood comes from few, or is no more expensive than without this. */
const spellings = new LRUCache<string, string>({
  max: 1000,
  // Its zone means something on the machine alone that wrote it (RFC 4007), and may have characters that are not read here.
  memoMethod: (address) => ipaddr.process(address.replace(/%.*/s, '')).toString(),
});

/**
 * Networks of a client, the smallest first: an IPv4 address, or the /64 of an IPv6 address, which has as many addresses as it likes, and
 * the /48, which is often that of one customer of a provider.
 *
 * @param address - from {@link clientAddress}
 */
export function networksOf(address: string): string[] {
  if (!address.includes(':')) {
    return [address];
  }
  return [64, 48].map((bits) => `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`).toString()}/${bits}`);
}
