/** A change of one node, as `redocly diff` reports it to rules. */
interface Change {
  readonly kind: 'added' | 'modified' | 'removed';
  /** What of a modified node changed; `key` is its name. */
  readonly property?: string;
  readonly base?: { readonly value: unknown };
  readonly revision?: { readonly value: unknown };
}

interface Context {
  readonly report: (problem: { message: string }) => void;
  /** Where the changed part is sent. */
  readonly getDirections: () => ('request' | 'response')[];
}

interface Secured {
  security?: readonly object[];
  'x-required-scopes'?: readonly string[];
}

/** Writes the inherited security and the scopes into each operation, because the rules of Redocly compare only these. */
function securityOfEachOperation() {
  let inherited: readonly object[] = [];
  return {
    Root: {
      enter: (document: Secured) => void (inherited = document.security ?? []),
      leave: (document: Secured) => void delete document.security,
    },
    Operation: {
      enter(operation: Secured) {
        const { security = inherited, 'x-required-scopes': scopes } = operation;
        operation.security = security.map((schemes) =>
          Object.fromEntries(Object.entries(schemes).map(([name, roles]) => [name, scopes ?? (roles as string[])])),
        );
      },
    },
  };
}

interface Deprecated {
  readonly deprecated?: boolean;
  readonly 'x-sunset'?: unknown;
  readonly responses: Readonly<Record<string, { headers?: Record<string, { example?: unknown }> }>>;
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

/** Whether the sunset of an operation has come: a day, `YYYY-MM-DD`, from 00:00 UTC. */
function isOver({ deprecated, 'x-sunset': sunset }: Deprecated): boolean {
  const isDay = typeof sunset === 'string' && /^\d{4}-\d\d-\d\d$/.test(sunset);
  return deprecated === true && isDay && sunset <= new Date().toISOString().slice(0, 10);
}

/** Removes operations from the released document after their sunset: they may go. */
function withoutPast() {
  return {
    Paths: {
      leave(
        paths: Record<string, Record<string, Deprecated>>,
        { location }: { location: { source: { absoluteRef: string } } },
      ) {
        for (const [path, item] of location.source.absoluteRef.endsWith('.released.json') ? Object.entries(paths) : []) {
          const present = METHODS.filter((method) => item[method]);
          const past = present.filter((method) => item[method] && isOver(item[method]));
          for (const method of past) delete item[method];
          if (past.length > 0 && past.length === present.length) delete paths[path];
        }
      },
    },
  };
}

/** Removes the headers of deprecations, because these may be taken back. */
function withoutDeprecationHeaders() {
  return {
    Operation: {
      leave({ deprecated, responses }: Deprecated) {
        for (const { headers = {} } of deprecated ? Object.values(responses) : []) {
          delete headers['Deprecation'];
          delete headers['Sunset'];
          // The operation may have other links.
          if (String(headers['Link']?.example).endsWith('rel="successor-version"')) delete headers['Link'];
        }
      },
    },
  };
}

/** Removes texts, by which Redocly would match parameters, and the hint `bearerFormat`, which is only for documentation. */
function withoutTexts() {
  return {
    SecurityScheme: {
      leave: (scheme: { bearerFormat?: string }) => void delete scheme.bearerFormat,
    },
    Parameter: {
      leave(parameter: { description?: string; example?: unknown; examples?: unknown }) {
        delete parameter.description;
        delete parameter.example;
        delete parameter.examples;
      },
    },
  };
}

/** Reports every change of a property of a type of node that breaks clients. */
const propertyRule = (type: string, property: string, isBreaking: (change: Change, context: Context) => boolean) => () => ({
  [type](change: Change, context: Context) {
    if (change.property === property && isBreaking(change, context)) {
      const [before, after] = [change.base, change.revision].map((side) => JSON.stringify(side?.value ?? null));
      context.report({ message: `\`${property}\` was ${before} and is ${after}.` });
    }
  },
});

/** An announced day may be taken back with the deprecation, but not moved up. */
const isEarlier = ({ base, revision }: Change) =>
  typeof base?.value === 'string' && typeof revision?.value === 'string' && revision.value < base.value;

/** Where a schema stands, or does not, anything may be sent without it. */
const contentSchema = {
  Schema({ kind }: Change, { report, getDirections }: Context) {
    if (kind === 'added' && getDirections().includes('request')) report({ message: 'Anything was accepted.' });
    if (kind === 'removed' && getDirections().includes('response')) report({ message: 'It may be anything now.' });
  },
};

/** A plugin for `redocly diff`: what its own rules accept, and `/v1` does not. */
export default () => ({
  id: 'service',
  decorators: {
    oas3: {
      'security-of-each-operation': securityOfEachOperation,
      'without-texts': withoutTexts,
      'without-past': withoutPast,
      'without-deprecation-headers': withoutDeprecationHeaders,
    },
  },
  diff: {
    oas3: {
      'default-changed': propertyRule('Schema', 'default', (_, { getDirections }) => getDirections().includes('request')),
      'sunset-moved-up': propertyRule('Operation', 'x-sunset', isEarlier),
      'format-changed': propertyRule('Schema', 'format', () => true),
      'response-header-became-optional': propertyRule('Header', 'required', ({ base }) => base?.value === true),
      'required-request-body-added': () => ({
        RequestBody({ kind, revision }: Change, { report }: Context) {
          const body = revision?.value as { required?: boolean } | undefined;
          if (kind === 'added' && body?.required === true) report({ message: 'A request needs a body.' });
        },
      }),
      'servers-replaced': () => ({
        ServerList({ kind }: Change, { report }: Context) {
          if (kind === 'added') report({ message: 'Other servers replace those that were meant before.' });
        },
      }),
      'schema-added-or-removed': () => ({ MediaType: contentSchema, Header: contentSchema, Parameter: contentSchema }),
    },
  },
});
