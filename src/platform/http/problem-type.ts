/** One kind of error answer: what clients can rely on, and what they are told about it. */
export interface ProblemType {
  /** Last part of the `type` URI, kebab-case, stable within `/v1`. */
  readonly name: string;
  /** HTTP status code of every problem of this type. */
  readonly status: number;
  /** Short summary that is the same for every occurrence. */
  readonly title: string;
  /** What happened and how the client mends it, in full sentences for the documentation. */
  readonly remedy: string;
}

const registry = new Map<string, ProblemType>();

/** Name of the type that says no more than the status does. */
export const BLANK = 'about:blank';

/** Path of the page that documents every registered type; the fragment is the type's name. */
export const PROBLEMS_PATH = '/docs/problems';

/**
 * Declares a problem type and registers it, so that `/docs/problems` documents it. Call it once, at module level, beside
 * the code that raises the problem.
 *
 * @throws Error when another type has that name
 */
export function defineProblemType(type: ProblemType): ProblemType {
  if (registry.has(type.name)) {
    throw new Error(`The problem type "${type.name}" is defined twice: give one of them another name.`);
  }
  registry.set(type.name, type);
  return type;
}

/** Every registered problem type, by status, then by name. */
export function problemTypes(): ProblemType[] {
  return [...registry.values()].toSorted((a, b) => a.status - b.status || (a.name < b.name ? -1 : 1));
}

/** The `type` member of a problem: a relative URI (RFC 9457, section 3.1.1) that leads to the type's documentation. */
export function problemTypeUri(type: ProblemType): string {
  return type.name === BLANK ? BLANK : `${PROBLEMS_PATH}#${type.name}`;
}
