import { BlockList, isIPv6, type Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { clientAddress, isSite, networksOf } from '../requests/client-address.js';
import { onceAMinute } from '../time/once-a-minute.js';

/** Clients (/64 networks) whose connections a site (/48) may have, so that no site can take all of `MAX_CONNECTIONS`. */
const CLIENTS_OF_SITE = 5;

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4');

/** Limits connections of an IPv4 address, IPv6 /64 or /48, but not of trusted proxies. @returns whether one is allowed */
export function addressLimit(limit: number, trustedProxies: readonly string[]): (socket: Socket) => boolean {
  const connections = new Map<string, Set<Socket>>();
  const mayReport = onceAMinute(10_000);
  const proxies = new BlockList();
  for (const proxy of trustedProxies) {
    const [network = '', length = isIPv6(network) ? 128 : 32] = proxy.split('/');
    proxies.addSubnet(network, Number(length), familyOf(network));
  }
  return (socket) => {
    const address = clientAddress({ ip: undefined, socket });
    // A proxy does not count for other addresses of its network either.
    if (proxies.check(address, familyOf(address))) {
      return true;
    }
    const networks = networksOf(address);
    const full = networks.find((network) => (connections.get(network)?.size ?? 0) >= limitOf(network, limit));
    if (full === undefined) {
      for (const network of networks) {
        const open = connections.getOrInsertComputed(network, () => new Set()).add(socket);
        socket.once('close', () => open.delete(socket) && open.size === 0 && connections.delete(network));
      }
      return true;
    }
    if (mayReport(full)) {
      const reason = `more than ${limitOf(full, limit)} connections; if this is a load balancer, set TRUSTED_PROXIES`;
      new Logger('HttpServer').warn({ msg: 'connections of an address closed', address: full, reason });
    }
    return false;
  };
}

const limitOf = (network: string, limit: number) => (isSite(network) ? CLIENTS_OF_SITE * limit : limit);
