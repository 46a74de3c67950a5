import { copyFileSync } from 'node:fs';
import { readDocument } from './read-document.ts';
import { lateNotices } from './sunset.ts';

// Makes the current API the released one, from which on it is kept: npm run api:release, which runs the check before.

const [released = 'openapi.released.json', current = 'openapi.json'] = process.argv.slice(2);
const documents = { before: readDocument(released), after: readDocument(current) };
const late = lateNotices(documents, Temporal.Now.plainDateISO('UTC'));
if (late.length > 0) {
  process.stdout.write(`Clients are told of a removal 12 months ahead:\n\n${late.join('\n')}\n`);
  process.exitCode = 1;
} else {
  copyFileSync(current, released);
  process.stdout.write(`${released} is ${current} now: commit it.\n`);
}
