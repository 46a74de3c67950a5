import type { ApiDocument, Content, Operation, Schema } from './api-document.ts';

/** The reference of an API in Markdown, for readers without a running service. */
export function referenceOf({ info, paths, components }: ApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationOf(`${method.toUpperCase()} ${path}`, operation)),
  );
  const schemas = Object.entries(components.schemas).flatMap(([name, schema]) =>
    [`### ${name}`, propertiesOf(schema)].flat(),
  );
  const sent = Object.values(paths).flatMap((methods) => Object.values(methods).flatMap(headersOf));
  const headers = Object.entries(Object.fromEntries(sent)).map(([name, header]) => {
    return [name, (components.headers[lastOf(header.$ref)] ?? header).description ?? ''];
  });
  const common = info.description.replace(/^## First steps\n.*?(?=^## )/ms, '');
  const title = ['<!-- Written by npm run openapi. -->', `# ${info.title} ${info.version}: API reference`, common];
  const parts = [...operations.flat(), '## Schemas', ...schemas, '## Headers', table(['Header', 'Description'], headers)];
  return `${[...title, '## Operations', ...parts].filter((part) => part !== '').join('\n\n')}\n`;
}

const headersOf = ({ responses }: Operation) =>
  Object.values(responses).flatMap(({ headers = {} }) => Object.entries(headers));
const lastOf = (reference = '') => reference.slice(reference.lastIndexOf('/') + 1);

function operationOf(call: string, { parameters = [], requestBody: body, responses, ...operation }: Operation): string[] {
  const inputs = parameters.map(({ name, in: place, required, description = '', schema }) => {
    return [`\`${name}\` in ${place}${required === true ? ' (required)' : ''}`, typeOf(schema), description];
  });
  const rows = Object.entries(responses).map(([status, { description, content, headers = {} }]) => {
    return [status, description, contentOf(content), Object.keys(headers).join(', ')];
  });
  return [
    `### ${operation.summary}`,
    `\`${call}\`${operation.deprecated === true ? ' (deprecated)' : ''}`,
    operation.description ?? '',
    inputs.length > 0 ? table(['Parameter', 'Type', 'Description'], inputs) : '',
    ...(body ? [`Body: ${contentOf(body.content)}`, exampleOf(body.content)] : []),
    table(['Status', 'Response', 'Body', 'Headers'], rows),
    ...Object.values(responses)
      .slice(0, 1)
      .map(({ content }) => exampleOf(content)),
  ];
}

function propertiesOf({ properties = {}, required = [], description = '' }: Schema): string[] {
  const rows = Object.entries(properties).map(([name, schema]) => {
    return [`\`${name}\`${required.includes(name) ? ' (required)' : ''}`, typeOf(schema), schema.description ?? ''];
  });
  return [description, table(['Property', 'Type', 'Description'], rows)];
}

const contentOf = (content: Content = {}) =>
  Object.entries(content)
    .map(([type, { schema = {} }]) => `${typeOf(schema)} as \`${type}\``)
    .join(', ');

function exampleOf(content: Content = {}): string {
  const [example] = Object.values(content).flatMap((media) => ('example' in media ? [media.example] : []));
  return example === undefined ? '' : `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``;
}

const LIMITS = [
  'format',
  'enum',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'maxItems',
  'default',
  'examples',
];

/** A type with its limits; a schema with a name is a link. */
function typeOf({ $ref, type = 'any', items, ...schema }: Schema): string {
  const name = lastOf($ref);
  if (name !== '') return `[${name}](#${name.toLowerCase()})`;
  const limits = LIMITS.filter((limit) => limit in schema).map((limit) => `${limit} ${JSON.stringify(schema[limit])}`);
  const { allOf, anyOf, oneOf } = schema;
  const kind = (allOf ?? anyOf ?? oneOf)?.map(typeOf) ?? (items ? `array of ${typeOf(items)}` : type);
  return [[kind].flat().join(' or '), ...limits].join(', ');
}

/** One line: paragraphs become line breaks. */
const cell = (text: string) => text.replaceAll('|', String.raw`\|`).replaceAll(/\n+/g, '<br>');

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n');
}
