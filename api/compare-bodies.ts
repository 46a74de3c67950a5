import { ANSWER, type BreakingChange, REQUEST } from './breaking-change.ts';
import { compareSchemas, type Described } from './compare-schemas.ts';
import { asObject, type JsonObject, type Pair, resolve } from './json.ts';

/** What clients send: all that they may send today they still may. */
export function compareRequestBodies(
  documents: Pair<JsonObject>,
  operations: Pair<JsonObject>,
  operation: string,
): BreakingChange[] {
  const place = `${operation}, request body`;
  const before = resolve(documents.before, operations.before['requestBody']);
  const after = resolve(documents.after, operations.after['requestBody']);
  const isRequired = after['required'] === true && before['required'] !== true;
  const demands = isRequired ? [{ place, change: 'is required now', harm: REQUEST }] : [];
  return demands.concat(compareContent({ before, after }, { documents, sentIn: 'request', place }));
}

/** What clients get: every status, media type and header that was documented. */
export function compareAnswers(documents: Pair<JsonObject>, operations: Pair<JsonObject>, operation: string): BreakingChange[] {
  const [before, after] = [asObject(operations.before['responses']), asObject(operations.after['responses'])];
  return Object.entries(before).flatMap(([status, answer]) => {
    const place = `${operation}, answer ${status}`;
    if (after[status] === undefined) {
      return [{ place, change: 'is gone', harm: ANSWER }];
    }
    const answers = { before: resolve(documents.before, answer), after: resolve(documents.after, after[status]) };
    const described: Described = { documents, sentIn: 'answer', place };
    return compareHeaders(answers, described).concat(compareContent(answers, described));
  });
}

/** The media types of a body. A client that sends or accepts one goes on doing so. */
function compareContent({ before, after }: Pair<JsonObject>, described: Described): BreakingChange[] {
  const content = asObject(after['content']);
  return Object.entries(asObject(before['content'])).flatMap(([type, media]) => {
    if (content[type] === undefined) {
      return [{ place: described.place, change: `${type} is gone`, harm: described.sentIn === 'request' ? REQUEST : ANSWER }];
    }
    const schemas = { before: asObject(media)['schema'], after: asObject(content[type])['schema'] };
    return compareSchemas(schemas, { ...described, place: `${described.place}, ${type}` });
  });
}

/** Names of headers have no case. */
function compareHeaders(answers: Pair<JsonObject>, described: Described): BreakingChange[] {
  const { documents, place } = described;
  const current = new Map(
    Object.entries(asObject(answers.after['headers'])).map(([name, header]) => [name.toLowerCase(), header]),
  );
  return Object.entries(asObject(answers.before['headers'])).flatMap(([name, header]) => {
    const found = current.get(name.toLowerCase());
    if (found === undefined) {
      return [{ place, change: `header ${name} is gone`, harm: ANSWER }];
    }
    const [before, after] = [resolve(documents.before, header), resolve(documents.after, found)];
    const mayBeMissing = before['required'] === true && after['required'] !== true;
    const own = mayBeMissing ? [{ place, change: `header ${name} is no longer required`, harm: ANSWER }] : [];
    const schemas = { before: before['schema'], after: after['schema'] };
    return own.concat(compareSchemas(schemas, { ...described, place: `${place}, header ${name}` }));
  });
}
