/**
 * Whether an SPDX licence expression (SPDX 2.3, annex D) leaves a choice of licences that are all allowed. `OR` gives a choice,
 * `AND` asks for both and binds closer; a licence `WITH` an exception is a licence of its own, as is one with `+`.
 *
 * @returns false for what is no expression, too
 */
export function isAllowed(expression: string, allowed: ReadonlySet<string>): boolean {
  const tokens = expression.match(/[()]|[^\s()]+/g) ?? [];
  try {
    return new Reader(tokens, allowed).read();
  } catch (error) {
    if (error instanceof NoExpression) {
      return false;
    }
    throw error;
  }
}

class NoExpression extends Error {}

class Reader {
  private position = 0;
  private readonly tokens: readonly string[];
  private readonly allowed: ReadonlySet<string>;

  // Node takes away types alone, which parameters that are properties are not.
  constructor(tokens: readonly string[], allowed: ReadonlySet<string>) {
    this.tokens = tokens;
    this.allowed = allowed;
  }

  read(): boolean {
    const isSo = this.readChoice();
    if (this.position < this.tokens.length) {
      throw new NoExpression();
    }
    return isSo;
  }

  private readChoice(): boolean {
    let isSo = this.readBoth();
    while (this.skip('OR')) isSo = this.readBoth() || isSo;
    return isSo;
  }

  private readBoth(): boolean {
    let isSo = this.readOne();
    while (this.skip('AND')) isSo = this.readOne() && isSo;
    return isSo;
  }

  private readOne(): boolean {
    if (this.skip('(')) {
      const isSo = this.readChoice();
      if (!this.skip(')')) {
        throw new NoExpression();
      }
      return isSo;
    }
    const licence = this.readName();
    return this.allowed.has(this.skip('WITH') ? `${licence} WITH ${this.readName()}` : licence);
  }

  private readName(): string {
    const name = this.tokens[this.position] ?? '';
    if (!/^[A-Za-z0-9.+-]+$/.test(name) || ['AND', 'OR', 'WITH'].includes(name)) {
      throw new NoExpression();
    }
    this.position += 1;
    return name;
  }

  private skip(token: string): boolean {
    const isNext = this.tokens[this.position] === token;
    this.position += isNext ? 1 : 0;
    return isNext;
  }
}
