import type { Type } from '@nestjs/common';
import { freePort } from './free-port.js';
import { type Service, startService } from './service.js';

/** Labels of a time series, in any order. */
export type Labels = Readonly<Record<string, string>>;

/** One number of a scrape. */
interface Sample {
  name: string;
  labels: Labels;
  value: number;
}

/** The metrics of one scrape. */
export class Scrape {
  /** The type of each metric, by name. */
  readonly types: ReadonlyMap<string, string>;
  readonly samples: readonly Sample[];

  constructor(readonly text: string) {
    this.types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
    const lines = text.matchAll(/^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)$/gm);
    this.samples = [...lines].map(([, name = '', labels = '', value]) => ({
      name,
      labels: parse(labels),
      value: Number(value),
    }));
  }

  static async from(port: number): Promise<Scrape> {
    return new Scrape(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
  }

  /** The sum of the series of a metric that have these labels, perhaps beside others; 0 if there is none. */
  sum(name: string, labels: Labels = {}): number {
    return this.of(name, labels).reduce((sum, { value }) => sum + value, 0);
  }

  /** The series of a metric that have these labels, perhaps beside others. */
  of(name: string, labels: Labels = {}): Sample[] {
    const wanted = Object.entries(labels);
    return this.samples.filter(
      (sample) => sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value),
    );
  }
}

/** The application in this process, with its metrics. */
export interface MeasuredService extends Service {
  scrape(): Promise<Scrape>;
  metricsPort: number;
}

/** Starts it with a port for its metrics that is known. */
export async function startMeasured(environment: NodeJS.ProcessEnv = {}, root?: Type): Promise<MeasuredService> {
  const metricsPort = await freePort();
  const service = await startService({ ...environment, METRICS_PORT: String(metricsPort) }, undefined, root);
  return { ...service, metricsPort, scrape: () => Scrape.from(metricsPort) };
}

function parse(text: string): Labels {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name = '', value = '']) => [name, value]),
  );
}
