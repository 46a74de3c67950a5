import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { addressLimit } from './address-limit.js';

const LIMIT = 3;

const reports: unknown[] = [];

beforeAll(() => {
  jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: { address: string }) => reports.push(line.address));
});

afterAll(() => jest.restoreAllMocks());

const socketOf = (remoteAddress: string) => Object.assign(new EventEmitter(), { remoteAddress }) as unknown as Socket;

/** The number of connections that the addresses may open together. */
function admitted(admits: ReturnType<typeof addressLimit>, ...addresses: string[]): number {
  return Array.from({ length: 20 }, (_, index) => socketOf(addresses[index % addresses.length] ?? '')).filter((socket) =>
    admits(socket),
  ).length;
}

it.each([
  ['192.0.2.1', '::ffff:192.0.2.1', '192.0.2.2'],
  ['2001:db8:0:1::1', '2001:db8:0:1:ffff::2', '2001:db8:0:2::1'],
  ['fe80::1%eth0', 'fe80::2%eth1', 'fe81::1'],
])('counts %s and %s together, and %s separately [connections-of-address]', (one, same, other) => {
  const admits = addressLimit(LIMIT, []);
  expect([admitted(admits, one, same), admitted(admits, other)]).toEqual([LIMIT, LIMIT]);
});

it('admits as many as have closed, and reports a client once', () => {
  reports.length = 0;
  const admits = addressLimit(LIMIT, []);
  const socket = socketOf('2001:db8::1');
  expect([admits(socket), admitted(admits, '2001:db8::2')]).toEqual([true, LIMIT - 1]);
  socket.emit('close');
  expect(admitted(admits, '2001:db8::1')).toBe(1);
  expect(reports).toEqual(['2001:db8::/64']);
});

it('admits five times as many from an IPv6 /48, over all its /64 networks [connections-of-address]', () => {
  reports.length = 0;
  const admits = addressLimit(LIMIT, []);
  const site = Array.from({ length: 20 }, (_, index) => socketOf(`2001:db8:0:${index}::1`));
  expect(site.filter((socket) => admits(socket))).toHaveLength(5 * LIMIT);
  expect(reports).toEqual(['2001:db8::/48']);
  expect(admitted(admits, '2001:db8:1::1')).toBe(LIMIT);
  for (const socket of site) socket.emit('close');
  expect(admitted(admits, '2001:db8:0:99::1', '2001:db8:0:100::1')).toBe(2 * LIMIT);
});

it('does not count a trusted proxy for other addresses of its network', () => {
  const admits = addressLimit(LIMIT, ['2001:db8::1']);
  expect([admitted(admits, '2001:db8::1'), admitted(admits, '2001:db8::2')]).toEqual([20, LIMIT]);
});

it.each(['10.1.2.3', '::ffff:10.1.2.3', 'fd00:1::1', '::1', '192.0.2.1', '::ffff:172.16.0.9'])(
  'does not limit the trusted proxy %s [connections-of-address]',
  (address) => {
    const admits = addressLimit(LIMIT, ['10.0.0.0/8', 'fd00::/8', '::1', '192.0.2.1', '::ffff:172.16.0.0/108']);
    expect(admitted(admits, address)).toBe(20);
    expect(admitted(admits, '192.0.2.2', '::ffff:192.0.2.2')).toBe(LIMIT);
  },
);
