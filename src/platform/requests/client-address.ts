import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

/** Normalized address of the client behind `TRUSTED_PROXIES`, IPv4-mapped ones as IPv4; empty once it has disconnected. */
export function clientAddress({ ip = '', socket: { remoteAddress = '' } }: Pick<Request, 'ip' | 'socket'>): string {
  // Faster than `ipaddr.process`, which does this, too: a 401 needs the address twice.
  const address = (isIP(ip) > 0 ? ip : remoteAddress).replace(/^::ffff:(?=\d+\.)/, '');
  return address.includes(':') ? ipaddr.process(address.replace(/%.*/s, '')).toString() : address;
}

/** The network that stands for the client of a request: its IPv4 address or IPv6 /64; empty once it has disconnected. */
export function clientNetwork(request: Pick<Request, 'ip' | 'socket'>): string {
  const [smallest = ''] = networksOf(clientAddress(request));
  return smallest;
}

/** Networks of an address, smallest first: itself for IPv4; the /64 (one client) and the /48 (one site) for IPv6. */
export function networksOf(address: string): string[] {
  if (!address.includes(':')) {
    return [address];
  }
  return [64, 48].map((bits) => `${ipaddr.IPv6.networkAddressFromCIDR(`${address}/${bits}`).toString()}/${bits}`);
}

/** Whether a network of {@link networksOf} is that of a site, which has many clients. */
export function isSite(network: string): boolean {
  return network.endsWith('/48');
}
