export type JsonSchema = Readonly<Record<string, unknown>>;

interface StandardJsonSchema {
  readonly '~standard': {
    readonly jsonSchema?: Readonly<Record<'input' | 'output', (options: { target: 'draft-2020-12' }) => JsonSchema>>;
  };
}

/** A Standard Schema as the JSON Schema of OpenAPI 3.1; undefined if its library has none. @throws if this one has none */
export function jsonSchemaOf(schema: unknown, part: 'input' | 'output'): JsonSchema | undefined {
  return (schema as StandardJsonSchema)['~standard'].jsonSchema?.[part]({ target: 'draft-2020-12' });
}
