/** What the client knows of a create: refused creates make no item, and those of which it does not know make at most one. */
export type Knowledge = { readonly id: string } | 'refused' | 'unknown';

export interface Stored {
  readonly id: string;
  readonly name: string;
}

/** Every create that was sent, by the name of its item, which no other create has. */
export class Ledger {
  readonly prefix = `soak ${Date.now().toString(36)} `;
  private readonly creates = new Map<string, Knowledge>();
  /** Keys whose requests were acknowledged, and those of which the client does not know. */
  readonly keys = { acknowledged: 0, unknown: 0 };
  private count = 0;

  newName(): string {
    const name = `${this.prefix}${(this.count += 1)}`;
    this.creates.set(name, 'unknown');
    return name;
  }

  note(name: string, knowledge: Knowledge): void {
    this.creates.set(name, knowledge);
  }

  get acknowledged(): string[] {
    return [...this.creates.values()].flatMap((knowledge) => (typeof knowledge === 'object' ? knowledge.id : []));
  }

  get summary(): string {
    const kinds = Map.groupBy(this.creates.values(), kindOf);
    return [...kinds].map(([kind, { length }]) => `${length} ${kind}`).join(', ');
  }

  /** Compares everything that is listed with what clients know. @returns what is wrong, one fault each */
  compare(listed: readonly Stored[], seeded: ReadonlySet<string>): string[] {
    const byName = Map.groupBy(
      listed.filter(({ name }) => name.startsWith(this.prefix)),
      ({ name }) => name,
    );
    const wrong = [...this.creates].flatMap(([name, knowledge]) => {
      const ids = (byName.get(name) ?? []).map(({ id }) => id);
      return faultOf(knowledge, ids).map((fault) => `${fault}: ${name}`);
    });
    const strangers = listed.filter(({ id, name }) => !seeded.has(id) && !this.creates.has(name));
    return [...wrong, ...strangers.map(({ id, name }) => `${id} (${name}) was never sent`)];
  }
}

function kindOf(knowledge: Knowledge): string {
  return typeof knowledge === 'object' ? 'acknowledged' : knowledge;
}

function faultOf(knowledge: Knowledge, ids: readonly string[]): string[] {
  if (typeof knowledge === 'object') {
    const isRight = ids.length === 1 && ids[0] === knowledge.id;
    return isRight ? [] : [`was acknowledged as ${knowledge.id}, and is listed as [${ids.join()}]`];
  }
  if (knowledge === 'refused') return ids.length === 0 ? [] : [`was refused, and is listed as ${ids.join()}`];
  return ids.length <= 1 ? [] : [`is listed ${ids.length} times`];
}
