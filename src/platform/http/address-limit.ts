import { BlockList, isIPv6, type Socket } from 'node:net';
import { Logger } from '@nestjs/common';
import { clientAddress, networksOf } from '../requests/client-address.js';
import { onceAMinute } from '../time/once-a-minute.js';

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4');

/** Limits connections per client (IPv4 address or IPv6 /64), but not of trusted proxies. @returns whether one is allowed */
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
