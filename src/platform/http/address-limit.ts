import { BlockList, isIPv6, type Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { clientAddress, networksOf } from '../requests/client-address.js';
import { onceAMinute } from '../time/once-a-minute.js';

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4');

/**
 * Limits the open connections of each client, an IPv4 address or an IPv6 /64, except trusted proxies.
 *
 * @returns whether a new connection is within the limit. Clients beyond it are logged at most once a minute
 */
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
    const [client = ''] = networksOf(address);
    const open = connections.getOrInsertComputed(client, () => new Set());
    if (open.size < limit || proxies.check(address, familyOf(address))) {
      open.add(socket);
      socket.once('close', () => open.delete(socket) && open.size === 0 && connections.delete(client));
      return true;
    }
    if (mayReport(client)) {
      const reason = `more than ${limit} connections; if this is a load balancer, set TRUSTED_PROXIES`;
      new Logger('HttpServer').warn({ msg: 'connections of an address closed', address: client, reason });
    }
    return false;
  };
}
