import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';

/** Of an IPv6 address, the bytes that tell one customer of a provider from another: a /64 has as many addresses as it likes. */
const NETWORK_BYTES = 8;

/**
 * Address of the client: what `TRUSTED_PROXIES` say it is, or the other end of the connection.
 *
 * @returns it in one spelling, IPv4 as such; empty once the connection is gone
 */
export function clientAddress({ ip, socket }: Pick<Request, 'ip' | 'socket'>): string {
  const known = ip === undefined ? undefined : spellings.get(ip);
  if (known !== undefined) {
    return known;
  }
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
 * What failures are counted by: an IPv4 address, or the network of an IPv6 one.
 *
 * @param address - from {@link clientAddress}
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) {
    return address;
  }
  const bytes = ipaddr.parse(address).toByteArray();
  return `${ipaddr.fromByteArray(bytes.map((byte, place) => (place < NETWORK_BYTES ? byte : 0))).toString()}/64`;
}
