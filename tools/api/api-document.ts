/** What the reference reads of an OpenAPI document. */
export type Named<Value> = Readonly<Record<string, Value>>;
export type Content = Named<{ readonly schema?: Schema; readonly example?: unknown }>;

export interface Schema extends Named<unknown> {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly required?: readonly string[];
  readonly properties?: Named<Schema>;
}

interface Header {
  readonly $ref?: string;
  readonly description?: string;
}

export interface Operation {
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly parameters?: readonly { name: string; in: string; required?: boolean; description?: string; schema: Schema }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Named<{
    readonly description: string;
    readonly headers?: Named<Header>;
    readonly content?: Content;
  }>;
}

export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Named<Named<Operation>>;
  readonly components: { readonly schemas: Named<Schema>; readonly headers: Named<Header> };
}
