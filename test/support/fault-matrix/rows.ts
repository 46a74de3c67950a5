import { generateToken } from '../../../src/platform/auth/token-format.js';
import { eventually } from '../eventually.js';
import { HttpClient } from '../http-client.js';
import { Load, outcomesOf } from '../load.js';
import { ServiceProcess, spawnCli } from '../process.js';
import { Ledger } from './ledger.js';
import { LIMITS, type RowResult } from './matrix.js';
import { observe } from './observe.js';

/** The processes of some rows of the matrix, which run one after another. */
export interface Subjects {
  readonly environment: NodeJS.ProcessEnv & { DATABASE_URL: string };
  /** A database without tables for each row: its migrations are applied during the fault. */
  readonly emptyUrls: readonly string[];
  readonly token: string;
  /** By default of the form of the service's own tokens. */
  readonly newToken?: () => string | Promise<string>;
  /** Command under which the processes run. */
  readonly under?: readonly string[];
}

export interface Fault {
  begin: () => unknown;
  /** Undoes it. */
  end: () => unknown;
  /** Of the items that are created during the fault. */
  description?: string;
}

/** Faults by name, which happen to the same processes one after another. */
export interface Chain {
  readonly faults: Readonly<Record<string, Fault>>;
  readonly subjects: Subjects;
}

/** One of several rows, during its fault. */
export interface Row {
  /** Lives through all faults. */
  readonly survivor: ServiceProcess;
  /** Started during the fault. */
  readonly arriving: ServiceProcess;
  /** Ends during the fault. */
  readonly leaving: ServiceProcess;
  readonly ledger: Ledger;
  readonly token: string;
  readonly unknownToken: string;
  readonly description: string | undefined;
  migrate(): ReturnType<typeof spawnCli>;
}

const variables = {
  DATABASE_CONNECTION_TIMEOUT: String(LIMITS.connection),
  DATABASE_STATEMENT_TIMEOUT: String(LIMITS.statement),
  SHUTDOWN_TIMEOUT: String(LIMITS.shutdown),
  SHUTDOWN_DELAY: '0',
  // Unknown tokens are looked up.
  AUTH_FAILURE_BURST: '1000000',
};

const start = ({ environment, under }: Subjects) => ServiceProcess.spawn({ ...environment, ...variables }, undefined, under);

/** Processes that one fault after another happens to. */
export class Rows {
  private readonly ledger = new Ledger();
  private readonly survivor: ServiceProcess;
  private leaving: ServiceProcess;

  constructor(private readonly subjects: Subjects) {
    [this.survivor, this.leaving] = [start(subjects), start(subjects)];
  }

  /** Commits a fault, observes each operation, and undoes it. @param place - of the fault among those of these processes */
  async run(fault: Fault, place: number): Promise<RowResult> {
    const { survivor, leaving, ledger, subjects } = this;
    await Promise.all([survivor, leaving].map((process) => this.recovers(process)));
    const load = this.load();
    await eventually(() => load.calls.length > 5);
    const unknownToken = (await subjects.newToken?.()) ?? generateToken();
    await fault.begin();
    const arriving = start(subjects);
    const migrate = () => this.migrate(place, variables);
    const { token } = subjects;
    const row: Row = { survivor, arriving, leaving, ledger, token, unknownToken, description: fault.description, migrate };
    const cells = await observe(row).finally(fault.end);
    this.leaving = arriving;
    // With the default time limits, because those for the failures are short for a busy machine.
    const [{ code, stderr }] = await Promise.all([
      this.migrate(place).ended,
      this.recovers(survivor),
      this.recovers(arriving),
    ]);
    const outcomes = Object.keys(outcomesOf(await load.stop()));
    const errors = [survivor, leaving, arriving].flatMap(({ log }) =>
      log.filter(({ level }) => level === 'error' || level === 'fatal'),
    );
    const wrong = [
      ...outcomes.filter((outcome) => !/^(?:200|201|401|503)$/.test(outcome)).map((outcome) => `a response was ${outcome}`),
      ...(await ledger.settle(this.client(survivor), survivor.client(token))),
      ...errors.map((line) => JSON.stringify(line)),
      ...(code === 0 ? [] : [`"migrate" after the failure ended with ${code}: ${stderr}`]),
    ];
    return { cells, wrong };
  }

  /** Ends all processes. @returns their exit codes */
  stop(): Promise<(number | null)[]> {
    return Promise.all([this.survivor, this.leaving].map((process) => process.end('SIGTERM')));
  }

  private migrate(place: number, limits?: NodeJS.ProcessEnv): ReturnType<typeof spawnCli> {
    const { environment, emptyUrls, under } = this.subjects;
    return spawnCli(['migrate'], { ...environment, ...limits, DATABASE_URL: emptyUrls[place] ?? '' }, under);
  }

  /** Requests of all kinds, one after another, that go on from before the fault until after it. */
  private load(): Load {
    const { ledger, survivor } = this;
    let unacknowledged = ledger.add(true);
    const kinds = [
      (client: HttpClient) => ledger.send(client, ledger.add(false)),
      // Repeated with its key until it is acknowledged.
      async (client: HttpClient) => {
        const reply = await ledger.send(client, unacknowledged);
        if (reply.status === 201) unacknowledged = ledger.add(true);
        return reply;
      },
      (client: HttpClient) => client.list('filter=name.startsWith("item")&limit=2'),
      () => new HttpClient(survivor.origin, generateToken(), false).list(),
    ];
    const clients = new Map(kinds.map((send) => [this.client(survivor), send]));
    return new Load([...clients.keys()], (client) => clients.get(client)?.(client) ?? client.list(), 40);
  }

  /** Waits until a process does everything, and shares its counts of requests. */
  private async recovers(process: ServiceProcess): Promise<void> {
    await process.becomes(() => process.has('Listening on '));
    await process.becomesReady();
    const { ledger, subjects } = this;
    const client = this.client(process);
    const requests = [
      () => client.list(),
      () => client.list('filter=name+==+"x"'),
      () => ledger.send(client, ledger.add(false)),
      () => ledger.send(client, ledger.add(true)),
    ];
    for (const send of requests) {
      await eventually(async () => (await send().catch(() => ({ status: Infinity }))).status < 300);
    }
    if (subjects.environment['REDIS_URL'])
      await eventually(async () => (await process.metric('items_rate_limit_shared')) === 1);
  }

  private client({ origin }: ServiceProcess): HttpClient {
    return new HttpClient(origin, this.subjects.token, true);
  }
}
