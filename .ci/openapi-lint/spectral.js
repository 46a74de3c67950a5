import { readFileSync } from 'node:fs';
import { argv, exit, stdout } from 'node:process';
import core from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';

// Checks an OpenAPI document with all rules of Spectral, recommended or not. Exits with 1 for any finding, warnings too:
// node spectral.js openapi.json

/** Not of the recommended rules: an address of the license, and one of the contact, which each operator would have to change. */
const rules = { 'license-url': 'off', 'contact-properties': 'off' };

const [, , file = 'openapi.json'] = argv;
const spectral = new core.Spectral();
spectral.setRuleset({ extends: [[rulesets.oas, 'all']], rules });
const findings = await spectral.run(readFileSync(file, 'utf8'));
for (const { code, path, message } of findings) {
  stdout.write(`${code}: ${path.join('.')}: ${message}\n`);
}
stdout.write(`Spectral found ${findings.length} faults in ${file}.\n`);
exit(findings.length === 0 ? 0 : 1);
