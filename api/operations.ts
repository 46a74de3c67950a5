import { asList, asObject, type JsonObject } from './json.ts';

const METHODS: readonly string[] = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'];

/** Every operation of a document by its method and path, like `GET /v1/items`, with what its path says for all of them. */
export function operationsOf(document: JsonObject): ReadonlyMap<string, JsonObject> {
  const operations = Object.entries(asObject(document['paths'])).flatMap(([path, value]) => {
    const item = asObject(value);
    return METHODS.filter((method) => item[method] !== undefined).map((method): [string, JsonObject] => {
      const operation = asObject(item[method]);
      const parameters = [...asList(item['parameters']), ...asList(operation['parameters'])];
      return [`${method.toUpperCase()} ${path}`, { servers: item['servers'], ...operation, parameters }];
    });
  });
  return new Map(operations);
}
