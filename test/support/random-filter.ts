import { creationTime } from '../../src/platform/database/id.js';
import type { ItemRow } from './cel-oracle.js';
import type { Random } from './random.js';

/**
 * Characters that have a meaning in SQL, LIKE, CEL or JSON, and some that have two cases. None is between U+E000 and U+FFFF:
 * the oracle orders those after the ones beyond, as JavaScript does, and not by code point.
 */
export const CHARACTERS = [
  'a',
  'b',
  'A',
  'B',
  '%',
  '_',
  '*',
  '\\',
  '"',
  "'",
  ' ',
  'é',
  'É',
  'ß',
  '😀',
  '\n',
  '\u200B',
  ';',
  '$1',
  ':a',
];

export function randomText(random: Random, longest = 4): string {
  return random.list(random.below(longest + 1), () => random.of(CHARACTERS)).join('');
}

/** Filters that are valid, within the bounds, and often about the rows that there are. */
export class RandomFilter {
  protected conditions = 0;
  private searches = 0;

  constructor(
    protected readonly random: Random,
    protected readonly rows: readonly ItemRow[],
  ) {}

  expression(depth = 0): string {
    const space = this.random.of(['', ' ', '  ', '\n', '\t', ' // a comment "\n']);
    return `${space}${this.condition(depth)}${this.random.of(['', ' '])}`;
  }

  private condition(depth: number): string {
    const kinds =
      depth > 3 || this.conditions > 20 ? (['leaf'] as const) : (['leaf', 'leaf', 'not', 'group', 'and', 'or'] as const);
    const nested = () => this.expression(depth + 1);
    switch (this.random.of(kinds)) {
      case 'not':
        return `!(${nested()})`;
      case 'group':
        return `(${nested()})`;
      case 'and':
        return `(${this.random.list(2 + this.random.below(2), nested).join('&&')})`;
      case 'or':
        return `(${this.random.list(2 + this.random.below(2), nested).join('||')})`;
      case 'leaf':
        return this.leaf();
    }
  }

  /** A condition without parts. */
  protected leaf(): string {
    this.conditions += 1;
    return this.random.of([
      () => this.random.of(['true', 'false']),
      () => `description ${this.random.of(['==', '!='])} null`,
      () => `null ${this.random.of(['==', '!='])} description`,
      () => this.comparison('id', () => this.id()),
      () => this.comparison('createdAt', () => this.timestamp()),
      () => this.comparison('createdAt', () => this.timestamp()),
      () => this.comparison(this.text(), () => this.literal()),
      () => this.comparison(this.text(), () => this.literal()),
      () => this.membership(),
      () => this.search(),
      () => this.search(),
    ])();
  }

  protected comparison(field: string, literal: () => string): string {
    const operator = this.random.of(['==', '!=', '<', '<=', '>', '>=']);
    return this.random.below(3) === 0 ? `${literal()} ${operator} ${field}` : `${field} ${operator} ${literal()}`;
  }

  private membership(): string {
    const [field, element] = this.random.of([
      ['id', () => this.id()],
      ['createdAt', () => this.timestamp()],
      ['description', () => (this.random.below(4) === 0 ? 'null' : this.literal())],
      [this.text(), () => this.literal()],
    ] as const);
    const elements = this.random.list(this.random.below(4), element);
    this.conditions += elements.length;
    return `${field} in [${elements.join(', ')}]`;
  }

  private search(): string {
    this.searches += 1;
    const name = this.searches > 4 ? 'startsWith' : this.random.of(['contains', 'startsWith', 'endsWith', 'icontains']);
    return `${this.text()}.${name}(${this.literal()})`;
  }

  private text(): string {
    return `${this.random.of(['name', 'description'])}${this.random.of(['', '', '.lowerAscii()'])}`;
  }

  private id(): string {
    return `"${this.random.of(this.rows).id}"`;
  }

  /** A value of some row, a part of one, or something new; in one of the ways in which CEL writes strings. */
  private literal(): string {
    const { name, description } = this.random.of(this.rows);
    const whole = this.random.of([name, description ?? '', randomText(this.random)]);
    const characters = Array.from(whole);
    const start = this.random.below(characters.length + 1);
    const text = this.random.of([whole, characters.slice(start, start + 2).join('')]);
    const raw = !/["\\\n]/.test(text) && !text.endsWith('\\');
    return this.random.of([
      () => JSON.stringify(text),
      () => `'${text.replaceAll(/['\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}'`,
      () => `"""${text.replaceAll(/["\\]/g, String.raw`\$&`)}"""`,
      () => (raw ? `r"${text}"` : JSON.stringify(text)),
      () =>
        `"${Array.from(text, (character) => `\\U${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`).join('')}"`,
    ])();
  }

  /** Around the creation of some row, in some zone, with up to nine digits of a second. */
  private timestamp(): string {
    return this.timestampNear(creationTime(this.random.of(this.rows).id).getTime());
  }

  protected timestampNear(milliseconds: number, digits = ['', '', '000', '000001', '5', '999999']): string {
    const shifted = milliseconds + this.random.of([0, 0, 0, 1, -1, 1000, -60_000]);
    const [zone, minutes] = this.random.of([
      ['Z', 0],
      ['+02:00', 120],
      ['-09:30', -570],
    ] as const);
    const local = new Date(shifted + minutes * 60_000).toISOString().slice(0, -1);
    return `timestamp("${local}${this.random.of(digits)}${zone}")`;
  }
}
