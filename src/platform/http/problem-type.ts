/** A kind of error that clients can rely on, with its documentation. */
export interface ProblemType {
  /** Last part of the `type` URI, kebab-case, stable within `/v1`. */
  readonly name: string;
  readonly status: number;
  /** Short summary, the same for every occurrence. */
  readonly title: string;
  /** The cause and the fix for the client, in full sentences. */
  readonly remedy: string;
  /** A `detail` for the documentation; the title by default. */
  readonly example?: string;
  /** Name of a constraint or unique index whose violation gives this problem. */
  readonly constraint?: string;
}

const registry = new Map<string, ProblemType>();

/** Page that documents every type; the fragment is the type's name. */
export const PROBLEMS_PATH = '/docs/problems';

/**
 * Declares a problem type, which `/docs/problems` documents. Call it once at module level, next to the code that throws the problem,
 * and list it in the `problems` of each `@Operation` that does.
 *
 * @throws Error if the name is taken or the status is not from 400 to 599
 */
export function defineProblemType(type: ProblemType): ProblemType {
  const { name, status } = type;
  if (registry.has(name)) {
    throw new Error(`The problem type "${name}" is defined twice: give one of them another name.`);
  }
  if (!Number.isInteger(status) || status < 400 || status > 599) {
    throw new Error(`The problem type "${name}" has the status ${status}: use one from 400 to 599.`);
  }
  registry.set(name, type);
  return type;
}

/** The problem type of a constraint, if there is one. */
export function problemTypeOf(constraint: string): ProblemType | undefined {
  return [...registry.values()].find((type) => type.constraint === constraint);
}

/** All problem types, sorted by status and name. */
export function problemTypes(): ProblemType[] {
  return [...registry.values()].toSorted((a, b) => a.status - b.status || (a.name < b.name ? -1 : 1));
}

/** The `type` member of a problem: a relative URI (RFC 9457, section 3.1.1) to its documentation, if it is documented. */
export function problemTypeUri({ name }: ProblemType): string {
  return registry.has(name) ? `${PROBLEMS_PATH}#${name}` : name;
}
