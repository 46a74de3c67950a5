/** One kind of error that clients can rely on, and its documentation. */
export interface ProblemType {
  /** Last part of the `type` URI, kebab-case, stable within `/v1`. */
  readonly name: string;
  readonly status: number;
  /** Short summary that is the same for every occurrence. */
  readonly title: string;
  /** What happened and how the client fixes it, in full sentences for the documentation. */
  readonly remedy: string;
  /** Name of a constraint or unique index: where the database refuses a statement because of it, the client gets this problem. */
  readonly constraint?: string;
}

const registry = new Map<string, ProblemType>();

/** Path of the page that documents every registered type; the fragment is the type's name. */
export const PROBLEMS_PATH = '/docs/problems';

/**
 * Declares a problem type, which `/docs/problems` then documents. Call it once, at module level, beside the code that raises the
 * problem, and name it in the `problems` of every `@Operation` that does.
 *
 * @throws Error when another type has that name, or the status is not that of an error
 */
export function defineProblemType(type: ProblemType): ProblemType {
  const { name, status } = type;
  if (registry.has(name)) {
    throw new Error(`The problem type "${name}" is defined twice: give one of them another name.`);
  }
  if (!Number.isInteger(status) || status < 400 || status > 599) {
    throw new Error(`The problem type "${name}" has the status ${status}: problems have one from 400 to 599.`);
  }
  registry.set(name, type);
  return type;
}

/** The problem type that names a constraint, if one does. */
export function problemTypeOf(constraint: string): ProblemType | undefined {
  return [...registry.values()].find((type) => type.constraint === constraint);
}

/** Every registered problem type, by status, then by name. */
export function problemTypes(): ProblemType[] {
  return [...registry.values()].toSorted((a, b) => a.status - b.status || (a.name < b.name ? -1 : 1));
}

/** The `type` member of a problem: a relative URI (RFC 9457, section 3.1.1) that leads to its documentation, if it has one. */
export function problemTypeUri({ name }: ProblemType): string {
  return registry.has(name) ? `${PROBLEMS_PATH}#${name}` : name;
}
