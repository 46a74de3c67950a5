import type { OpenAPIObject } from '@nestjs/swagger';
import { pathPrefixOf } from '../config/origins.js';
import { type ProblemType, problemTypes, problemTypeUri } from '../problems/problem-types.js';
import { invalidRequest, jsonPointer, Problem, problemBody, UNKNOWN_NAME } from '../problems/problem.js';
import { type DocumentedOperation, mediaTypesOf, operationsOf, resolveSchema, type Schemas } from './openapi-document.js';

const REQUEST_ID = '4f2b1c9e-7d7a-4d0b-9a53-0c2f6f6f3b1e';

/** The `example` of a single problem, or `examples` by type name. */
export function examplesOf(alike: readonly Problem[], path: string, prefix: string) {
  const named = alike.map((problem) => {
    return [problem.type.name, { summary: problem.type.title, value: exampleBody(problem, path, prefix) }] as const;
  });
  return named.length > 1 ? { examples: Object.fromEntries(named) } : { example: named[0]?.[1].value };
}

/** A problem of a type, as the documentation shows it. */
export function exampleProblem(type: ProblemType): Problem {
  // The detail of a constraint's problem is its remedy.
  return new Problem(type, type.example ?? (type.constraint === undefined ? `${type.title}.` : type.remedy));
}

/** @param path - path of an operation. Its braces are removed, because a URI does not allow them */
function exampleBody(problem: Problem, path: string, prefix: string) {
  return problemBody(problem, path.replaceAll(/[{}]/g, ''), REQUEST_ID, prefix);
}

/** An example body of each problem type by name, taken from an operation of the document if one has that problem. */
export function problemExamples(document: OpenAPIObject): Map<string, unknown> {
  const [path = '/'] = Object.keys(document.paths);
  const prefix = pathPrefixOf(document.servers?.[0]?.url);
  const media = operationsOf(document).flatMap(({ operation }) => Object.values(operation.responses).flatMap(mediaTypesOf));
  const named = media.flatMap(({ examples = {} }) => Object.values(examples) as { value?: unknown }[]);
  const documented = [...media.map(({ example }) => example as unknown), ...named.map(({ value }) => value)];
  const byType = Map.groupBy(documented, (example) => (Object(example) as { type?: unknown }).type);
  const exampleOf = (type: ProblemType) =>
    byType.get(problemTypeUri(type, prefix))?.[0] ?? exampleBody(exampleProblem(type), path, prefix);
  return new Map(problemTypes().map((type) => [type.name, exampleOf(type)]));
}

/** Examples of 400: an unknown parameter and, if there is a body, its missing required property or an unknown one. */
export function exampleRefusals({ requestBody }: DocumentedOperation, schemas: Schemas): Problem[] {
  const unknown = { code: 'unknown', detail: UNKNOWN_NAME };
  const ofParameters = invalidRequest([{ parameter: 'color', ...unknown }]);
  if (!requestBody) return [ofParameters];
  const { required: [required] = [] } = resolveSchema(mediaTypesOf(requestBody)[0]?.schema, schemas);
  const fault = required === undefined ? unknown : { code: 'required', detail: 'is required' };
  return [invalidRequest([{ pointer: jsonPointer([required ?? 'color']), ...fault }]), ofParameters];
}
