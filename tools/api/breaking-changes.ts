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

/** Where a schema stands, or does not, anything may be sent without it. */
const contentSchema = {
  Schema({ kind }: Change, { report, getDirections }: Context) {
    if (kind === 'added' && getDirections().includes('request')) report({ message: 'Anything was accepted.' });
    if (kind === 'removed' && getDirections().includes('response')) report({ message: 'It may be anything now.' });
  },
};

/** A plugin for `redocly diff`: what its own rules accept, and `/v1` does not. */
export default () => ({
  id: 'items',
  decorators: {
    oas3: { 'security-of-each-operation': securityOfEachOperation, 'without-texts': withoutTexts },
  },
  diff: {
    oas3: {
      'default-changed': propertyRule('Schema', 'default', (_, { getDirections }) => getDirections().includes('request')),
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
