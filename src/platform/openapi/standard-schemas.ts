import type { SwaggerDocumentOptions } from '@nestjs/swagger';
import { OperatorError } from '../errors/operator-error.js';
import { type JsonSchema, jsonSchemaOf } from '../routes/json-schema.js';
import { nameOf, parametersOf, type Route } from '../routes/route.js';

type Converter = NonNullable<SwaggerDocumentOptions['standardSchemaConverter']>;

/** A reference to the whole schema, or to a part that zod has named: in the document, it would mean something else. */
const ANONYMOUS = /"\$ref":"#(?:\/\$defs\/__schema\d+)?"/;

/**
 * Converts Standard Schemas for OpenAPI 3.1. Nest would ask for those of 3.0, which say `nullable` and
 * `exclusiveMinimum: true`.
 *
 * @param classes - names of the classes in the document
 * @returns a function that throws an OperatorError for a schema that cannot be documented
 */
export function standardSchemaConverter(routes: readonly Route[], classes: ReadonlySet<string>): Converter {
  // By name, for inputs and outputs, which can differ for one schema.
  const parts = new Map<string, string>();
  return (schema, { schemaType }) => {
    const faultOf = (schemaFault: string) => {
      const taker = routes.find((route) => parametersOf(route).some((parameter) => parameter.schema === schema));
      return new OperatorError(`${taker ? nameOf(taker) : 'A response'} has a Standard Schema that ${schemaFault}`);
    };
    let converted: JsonSchema | undefined;
    try {
      converted = jsonSchemaOf(schema, schemaType);
    } catch (error) {
      const reason = Error.isError(error) ? error.message : String(error);
      const remedy = 'take the JSON type and convert it, in zod with z.iso.datetime().pipe(z.coerce.date()) for a date.';
      throw faultOf(`cannot be documented (${reason}): ${remedy}`);
    }
    if (!converted) {
      return undefined;
    }
    const { $schema: _dialect, $defs: components = {}, ...own } = converted;
    if (ANONYMOUS.test(JSON.stringify([own, components]))) {
      throw faultOf("refers to itself: name the part, in zod with .meta({ id: 'Tree' }).");
    }
    for (const [name, part] of Object.entries(components as JsonSchema)) {
      const json = JSON.stringify(part);
      if (classes.has(name) || parts.getOrInsert(`${schemaType} ${name}`, json) !== json) {
        throw faultOf(`names a part ${name}, as another schema or class is named: rename it.`);
      }
    }
    return { schema: own, components: components as JsonSchema };
  };
}
