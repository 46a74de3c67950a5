import { Validator } from '@seriousme/openapi-schema-validator';
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { type Answer, Api, type ProblemBody } from './api.js';

export interface Media {
  schema: { $ref?: string };
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

/** A response header, or a reference to one in the document. */
export type Header = { schema: { type: string } } | { $ref: string };

export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters?: { name: string; schema: object; examples?: Record<string, { value: string }> }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { description: string; headers: Record<string, Header>; content?: Record<string, Media> }>;
  security?: object[];
  'x-required-scopes'?: string[];
  deprecated?: boolean;
  /** The day from which on a deprecated operation may be removed. */
  'x-sunset'?: string;
}

export interface Property {
  type: string | string[];
  example?: unknown;
  examples?: unknown[];
  enum?: unknown[];
  format?: string;
}

export interface Schema {
  properties: Record<string, Property>;
  required?: string[];
}

export interface Document {
  openapi: string;
  info: Record<'contact' | 'license', object>;
  security: unknown;
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    headers: Record<string, Header>;
    securitySchemes: Record<string, { description: string }>;
  };
}

/** The header of repeated responses, and of no others. */
const ONLY_ON_REPEATS = 'Idempotent-Replayed';

/** The document of a running service, against which its responses are checked. */
export class Contract {
  private readonly schemas = new Ajv2020({ strict: false });
  private readonly validators = new WeakMap<object, ValidateFunction>();

  constructor(readonly document: Document) {
    addFormats.default(this.schemas);
    this.schemas.addSchema(document, 'openapi.json');
  }

  static async read(origin: string): Promise<Contract> {
    return new Contract((await new Api(origin, '').send<Document>('GET', '/openapi.json')).body);
  }

  /** Whether it is valid OpenAPI. */
  validate(): Promise<{ valid: boolean }> {
    return new Validator().validate(structuredClone(this.document) as unknown as Record<string, unknown>);
  }

  get operations(): { name: string; operation: Operation }[] {
    return Object.entries(this.document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
    );
  }

  operation(method: string, path: string): Operation {
    const operation = this.document.paths[path]?.[method];
    if (!operation) {
      throw new Error(`There is no ${method} ${path} in the document: is its module imported in src/app.module.ts?`);
    }
    return operation;
  }

  /** Every `errors[].code` that a problem can have. */
  get errorCodes(): unknown[] {
    return this.document.components.schemas['FieldError']?.properties['code']?.examples ?? [];
  }

  /** The schema of an operation's request body. */
  bodyOf(operation: Operation): Schema {
    return this.schemaOf(operation.requestBody);
  }

  /** The schema of the body of a request or response, if it is one of the components. */
  schemaOf(documented: { content?: Record<string, Media> } | undefined): Schema {
    const [media] = Object.values(documented?.content ?? {});
    return this.document.components.schemas[media?.schema.$ref?.split('/').at(-1) ?? ''] ?? { properties: {} };
  }

  /** Errors of a value against the schema of a media type. */
  faultsOf({ schema }: Media, value: unknown): unknown[] {
    const { errors = [] } = Object(value) as Partial<ProblemBody>;
    const unlisted = errors.filter(({ code }) => schema.$ref?.endsWith('/Problem') && !this.errorCodes.includes(code));
    return [...faultsBy(this.validatorOf(schema), value), ...unlisted];
  }

  /** @throws Error if a reference of the schema leads nowhere */
  private validatorOf(schema: object): ValidateFunction {
    const compile = () => {
      const text = JSON.stringify(schema).replaceAll('"$ref":"#', '"$ref":"openapi.json#');
      return this.schemas.compile(JSON.parse(text) as object);
    };
    return this.validators.getOrInsertComputed(schema, compile);
  }

  /** Errors of a response: an undocumented status, media type, header or body. */
  faultsOfAnswer(operation: Operation, { status, headers, body }: Answer<unknown>): unknown[] {
    const documented = operation.responses[status];
    const mediaType = headers.get('content-type');
    const [type = ''] = mediaType?.split(';') ?? [];
    const media = documented?.content?.[type];
    const isBodiless = !documented?.content && mediaType === null && (body === undefined || body === '');
    if (!documented || !(media ?? isBodiless)) {
      return [`${operation.operationId} does not document ${status} ${mediaType}`];
    }
    const ofHeaders = Object.entries(documented.headers).flatMap(([name, header]) =>
      this.faultsOfHeader(name, header, headers.get(name)),
    );
    return [...ofHeaders, ...(media && isJson(type) ? this.faultsOf(media, body) : [])];
  }

  private faultsOfHeader(name: string, header: Header, text: string | null): unknown[] {
    if (text === null) {
      return name === ONLY_ON_REPEATS ? [] : [`${name} is missing`];
    }
    if ('$ref' in header) {
      const target = this.document.components.headers[header.$ref.split('/').at(-1) ?? ''];
      return target ? this.faultsOfHeader(name, target, text) : [`${header.$ref} leads nowhere`];
    }
    const value = header.schema.type === 'integer' && /^[0-9]+$/.test(text) ? Number(text) : text;
    return faultsBy(this.schemas.compile(header.schema), value).map((fault) => ({ header: name, text, fault }));
  }
}

function faultsBy(validate: ValidateFunction, value: unknown): unknown[] {
  return validate(value) ? [] : (validate.errors ?? []);
}

/** Whether a schema describes its values; a text has any form of its media type. */
export function isJson(mediaType: string): boolean {
  return /^application\/(?:[\w.-]+\+)?json\b/.test(mediaType);
}

/** All examples of a body. */
export function examplesOf({ example, examples = {} }: Media): unknown[] {
  return example === undefined ? Object.values(examples).map(({ value }) => value) : [example];
}
