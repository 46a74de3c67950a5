import { request } from 'node:http';
import type { Configuration } from '../../config/configuration.js';
import { SERVICE_NAME } from '../../config/service-name.js';
import { type Check, failed, type Finding, ok } from '../check.js';
import { allOf } from '../worst-of.js';

/** How long whoever listens on a port may take to say who it is, in milliseconds. */
const PATIENCE = 2000;

/** Whether the service could listen on its ports. It may be running already. */
export function portsCheck({ PORT, METRICS_PORT }: Configuration): Check {
  return {
    name: 'ports',
    run: async () => {
      if (PORT === METRICS_PORT && PORT !== 0) {
        return failed(`PORT and METRICS_PORT are both ${PORT}`, 'Set METRICS_PORT to another one.');
      }
      const findings = await Promise.all([
        judge('PORT', PORT, '/livez', '"status":"ok"'),
        judge('METRICS_PORT', METRICS_PORT, '/metrics', `${SERVICE_NAME}_`),
      ]);
      return allOf(findings, ok(''));
    },
  };
}

/** @param sign - in what this service answers at the path */
async function judge(variable: string, port: number, path: string, sign: string): Promise<Finding> {
  const answer = port === 0 ? undefined : await ask(port, path);
  if (answer === undefined) {
    return ok(`${variable} ${port === 0 ? 'is any free one' : `${port} is free`}`);
  }
  return answer.includes(sign)
    ? ok(`${variable} ${port} is used by a service like this one`)
    : failed(
        `${variable} ${port} is used by something else`,
        `Stop what listens there, or choose another port with ${variable}.`,
      );
}

/** @returns what is answered, or undefined when nobody listens */
function ask(port: number, path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(PATIENCE);
    const outgoing = request({ host: '127.0.0.1', port, path, signal, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('close', () => {
        resolve(text);
      });
    });
    outgoing.on('error', (error) => {
      resolve('code' in error && error.code === 'ECONNREFUSED' ? undefined : '');
    });
    outgoing.end();
  });
}
