import type { Client } from '../client.ts';
import type { Behavior, World } from './traffic.ts';

export const probes: readonly Behavior[] = [
  { kind: 'probe', clients: 1, pause: 1000, act: probe },
  { kind: 'scrape', clients: 1, pause: 3000, act: scrape },
];

/** `/readyz` is 503 in an instance that shuts down, too. */
async function probe(client: Client): Promise<void> {
  await client.send({ path: '/livez' }, [200]);
  await client.send({ path: '/readyz' }, [200, 503]);
}

async function scrape(_client: Client, { fleet, findings }: World): Promise<void> {
  for (const instance of fleet.instances) {
    const response = await fetch(`http://127.0.0.1:${instance.metricsPort}/metrics`).catch(() => undefined);
    const text = await response?.text().catch(() => undefined);
    if (text !== undefined && !text.includes('items_ready'))
      findings.push(`a scrape of ${instance.name} has no metrics: ${text.slice(0, 200)}`);
  }
}
