import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { BODY_TIME } from '../bodies/read-body.js';
import type { Configuration } from '../config/configuration.js';
import { badRequest } from '../problems/problem-types.js';
import { normalizeTarget } from './express.js';
import type { UnreadableRequests } from './unreadable-requests.js';

/** Sets the limits of connections that Node keeps. */
export function setLimits(server: Server, { KEEP_ALIVE_TIMEOUT, MAX_CONNECTIONS }: Configuration): void {
  server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT * 1000;
  // Also applies to idle new connections, which load balancers open in advance.
  server.headersTimeout = (KEEP_ALIVE_TIMEOUT + 1) * 1000;
  server.requestTimeout = server.headersTimeout + BODY_TIME;
  server.maxConnections = MAX_CONNECTIONS;
}

/** Replaces what Node would respond itself, before any middleware, by problems. */
export function replaceDefaults(server: Server, unreadable: UnreadableRequests): void {
  // Node would respond without a problem to a missing Host and to an unknown expectation, and drop a second Host. `100
  // Continue` is sent only when the body is read, so that refused clients do not send it. Offers of HTTP/2 are ignored, also
  // beside gateways.
  Object.assign(server, {
    requireHostHeader: false,
    joinDuplicateHeaders: true,
    shouldUpgradeCallback: ({ headers: { upgrade = '' } }: IncomingMessage) =>
      server.listenerCount('upgrade') > 0 && upgrade.toLowerCase() === 'websocket',
  });
  for (const event of ['checkContinue', 'checkExpectation']) {
    server.on(event, (request: IncomingMessage, response: ServerResponse) => server.emit('request', request, response));
  }
  server.prependListener('request', normalizeTarget);
  server.on('clientError', unreadable.handle);
  server.on('connect', (_request, socket: Socket) => {
    unreadable.reject(socket, badRequest, 'CONNECT is for proxies, which this service is not.');
  });
}
