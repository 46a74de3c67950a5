import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expressMessages } from './express-messages.js';

it('makes requests and responses that Express leaves as they are, and that are still all that Express makes of them', async () => {
  const app = express();
  const server = createServer(expressMessages(app));
  const prototypes: unknown[][] = [];
  server.on('request', (request, response) => {
    prototypes.push([Object.getPrototypeOf(request), Object.getPrototypeOf(response)]);
    app(request, response);
  });
  app.use((request, response) => {
    prototypes.push([Object.getPrototypeOf(request), Object.getPrototypeOf(response)]);
    response.status(202).json([request.path, request.query, request.app === app]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/a?b=c`);
    expect([answer.status, await answer.json()]).toEqual([202, ['/a', { b: 'c' }, true]]);
    expect(prototypes.map(([ofRequest, ofResponse]) => [ofRequest === app.request, ofResponse === app.response])).toEqual([
      [true, true],
      [true, true],
    ]);
  } finally {
    server.close();
  }
});
