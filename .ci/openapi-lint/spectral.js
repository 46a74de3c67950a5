import { readFileSync } from 'node:fs';
import { argv, exit, stdout } from 'node:process';
import core from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';

// Checks an OpenAPI document with all of Spectral's rules, recommended or not. Exits with 1 if anything is found, a warning even:
// node spectral.js openapi.json

const rules = {
  // Private, and licensed to nobody (package.json): there is no licence to name, nor an address of it.
  'info-license': 'off',
  'license-url': 'off',
  // Who is to be asked depends on who runs the service.
  'contact-properties': 'off',
  // OpenAPI 3.1 lets requirements of any scheme name roles, the bearer's too; the rule asks what only OAuth 2 has.
  // Whether the schemes are defined, Redocly checks.
  'oas3-operation-security-defined': 'off',
};

const [, , file = 'openapi.json'] = argv;
const spectral = new core.Spectral();
spectral.setRuleset({ extends: [[rulesets.oas, 'all']], rules });
const findings = await spectral.run(readFileSync(file, 'utf8'));
for (const { code, path, message } of findings) {
  stdout.write(`${code}: ${path.join('.')}: ${message}\n`);
}
stdout.write(`Spectral found ${findings.length} faults in ${file}.\n`);
exit(findings.length === 0 ? 0 : 1);
