declare const DEFINED: unique symbol;

/** What is said of one kind of error answer. */
export interface ProblemTypeDefinition {
  /** Last part of the `type` URI, kebab-case, stable within `/v1`. */
  readonly name: string;
  /** HTTP status code of every problem of this type. */
  readonly status: number;
  /** Short summary that is the same for every occurrence. */
  readonly title: string;
  /** What happened and how the client fixes it, in full sentences for the documentation. */
  readonly remedy: string;
  /** Name of a constraint or unique index: where the database refuses a statement because of it, the client gets this problem. */
  readonly constraint?: string;
}

/** One kind of error answer: what clients can rely on, and what they are told about it. Comes from `defineProblemType` alone. */
export interface ProblemType extends ProblemTypeDefinition {
  readonly [DEFINED]: true;
}

const registry = new Map<string, ProblemType>();

/** Name of the type that says no more than the status does. */
export const BLANK = 'about:blank';

/** Path of the page that documents every registered type; the fragment is the type's name. */
export const PROBLEMS_PATH = '/docs/problems';

/**
 * Declares a problem type and registers it, so that `/docs/problems` documents it. Call it once, at module level, beside the code
 * that raises the problem, and name it in the `problems` of every `@Operation` that does.
 *
 * @throws Error when another type has that name, or the status is not that of an error
 */
export function defineProblemType(definition: ProblemTypeDefinition): ProblemType {
  const { name, status } = definition;
  if (registry.has(name)) {
    throw new Error(`The problem type "${name}" is defined twice: give one of them another name.`);
  }
  if (!Number.isInteger(status) || status < 400 || status > 599) {
    throw new Error(`The problem type "${name}" has the status ${status}: problems have one from 400 to 599.`);
  }
  const type = definition as ProblemType;
  registry.set(name, type);
  return type;
}

/** The type of a status that nothing more is known of. */
export function blankProblemType(status: number, title: string): ProblemType {
  const definition: ProblemTypeDefinition = { name: BLANK, status, title, remedy: '' };
  return definition as ProblemType;
}

/** The problem type that names a constraint, if one does. */
export function problemTypeOf(constraint: string): ProblemType | undefined {
  return [...registry.values()].find((type) => type.constraint === constraint);
}

/** Every registered problem type, by status, then by name. */
export function problemTypes(): ProblemType[] {
  return [...registry.values()].toSorted((a, b) => a.status - b.status || (a.name < b.name ? -1 : 1));
}

/** The `type` member of a problem: a relative URI (RFC 9457, section 3.1.1) that leads to the type's documentation. */
export function problemTypeUri(type: ProblemType): string {
  return type.name === BLANK ? BLANK : `${PROBLEMS_PATH}#${type.name}`;
}
