import type { Socket } from 'node:net';
import { clientAddress } from './client-address.js';

it.each([
  ['203.0.113.9', '203.0.113.9'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['2001:DB8::0:1', '2001:db8::1'],
  ['fe80::1%eth0.5', 'fe80::1'],
  ['203.0.113.9:4711', '192.0.2.7'],
  [undefined, '192.0.2.7'],
])('takes %s for the address %s [forwarded-port-ignored]', (ip, address) => {
  expect(clientAddress({ ip, socket: { remoteAddress: '192.0.2.7' } as Socket })).toBe(address);
  expect(clientAddress({ ip: undefined, socket: { remoteAddress: undefined } as Socket })).toBe('');
});
