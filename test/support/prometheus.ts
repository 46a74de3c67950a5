import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Daemon, serverDirectory } from './daemon.js';
import { freePort } from './free-port.js';

interface ActiveAlert {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  state: 'pending' | 'firing';
}

type Found = { metric: Record<string, string>; value: [time: number, value: string] }[];
type Rules = { name: string; health: 'ok' | 'err' | 'unknown'; alerts?: ActiveAlert[] }[];

/** A Prometheus that scrapes each second. */
export class Prometheus {
  private constructor(
    private readonly origin: string,
    private readonly daemon: Daemon,
  ) {}

  /** @param target - port of the metrics @param rules - text of a file of rules */
  static async start(binary: string, target: number, rules: string): Promise<Prometheus> {
    const directory = serverDirectory('prometheus');
    const [address, file] = [`127.0.0.1:${await freePort()}`, join(directory, 'prometheus.yaml')];
    const configuration = `
global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: [rules.yaml]
scrape_configs:
  - job_name: items
    static_configs: [{ targets: ['127.0.0.1:${target}'], labels: { namespace: test } }]
`;
    writeFileSync(join(directory, 'rules.yaml'), rules);
    writeFileSync(file, configuration);
    const storage = `--storage.tsdb.path=${join(directory, 'data')}`;
    const daemon = new Daemon(binary, [`--config.file=${file}`, storage, `--web.listen-address=${address}`, '--log.level=warn']);
    await daemon.becomes(async () => (await fetch(`http://${address}/-/ready`)).ok);
    return new Prometheus(`http://${address}`, daemon);
  }

  /** @throws Error with what Prometheus finds wrong with the expression */
  async query(expr: string): Promise<Found> {
    return (await this.ask<{ result: Found }>(`query?${new URLSearchParams({ query: expr }).toString()}`)).result;
  }

  async rules(): Promise<Rules> {
    const { groups } = await this.ask<{ groups: { rules: Rules }[] }>('rules');
    return groups.flatMap(({ rules }) => rules);
  }

  private async ask<Data>(path: string): Promise<Data> {
    const response = await fetch(`${this.origin}/api/v1/${path}`);
    const { data, error } = (await response.json()) as { data: Data; error?: string };
    if (error !== undefined) {
      throw new Error(`${error} (${path}) ${this.daemon.output}`);
    }
    return data;
  }
}
