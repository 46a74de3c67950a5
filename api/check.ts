import { compareDocuments } from './compare-documents.ts';
import { operationsOf } from './operations.ts';
import { readDocument } from './read-document.ts';
import { report } from './report.ts';

// Whether the API that is about to be released breaks clients of the one that was. Exits with 1 if so: npm run api:check

const [released = 'openapi.released.json', current = 'openapi.json'] = process.argv.slice(2);
const documents = { before: readDocument(released), after: readDocument(current) };
const changes = compareDocuments(documents, Temporal.Now.plainDateISO('UTC'));
if (changes.length > 0) {
  process.stdout.write(`What was released (${released}) breaks in ${current}:\n\n${report(changes)}\n`);
  process.exitCode = 1;
} else {
  process.stdout.write(`All ${operationsOf(documents.before).size} operations of ${released} are kept in ${current}.\n`);
}
