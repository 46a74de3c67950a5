import { execFileSync } from 'node:child_process';
import type { JsonObject } from '../api/json.ts';
import { KNOWN_LICENCES } from './known-licences.ts';

/** A package in a CycloneDX document. */
export interface Component {
  /** Name and version. */
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly licenses?: readonly Licence[];
  readonly hashes?: readonly unknown[];
}

/** An SPDX id, an SPDX expression, or whatever else package.json says. */
export type Licence = { readonly license: { readonly id?: string; readonly name?: string } } | { readonly expression: string };

/** A CycloneDX document, as far as it is used here. */
export interface Sbom {
  readonly bomFormat: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  /** Which package needs which. */
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** In bytes; that of this project takes less than one in a hundred of it. */
const MAXIMUM_OUTPUT = 256 * 2 ** 20;

/**
 * What npm says of all packages that are installed, mended where it is wrong: it names the project as its directory is named, and
 * knows no licence of packages that tell theirs in words alone.
 *
 * @param project - its package.json
 */
export function readSbom(project: JsonObject): Sbom {
  const command = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
  const output = execFileSync('npm', command, {
    maxBuffer: MAXIMUM_OUTPUT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const sbom = JSON.parse(output) as Sbom;
  const component = { ...sbom.metadata.component, name: String(project['name']) };
  return { ...sbom, metadata: { ...sbom.metadata, component }, components: sbom.components.map(withKnownLicence) };
}

/**
 * The same of some packages alone. npm's own `--omit dev` leaves out what development needs as well as production, a quarter of the
 * packages here: https://github.com/npm/cli/issues/7909.
 */
export function onlyOf(sbom: Sbom, references: ReadonlySet<string>): Sbom {
  const kept = new Set([...references, sbom.metadata.component['bom-ref']]);
  return {
    ...sbom,
    components: sbom.components.filter((component) => kept.has(component['bom-ref'])),
    dependencies: sbom.dependencies
      .filter(({ ref }) => kept.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) })),
  };
}

function withKnownLicence(component: Component): Component {
  const id = KNOWN_LICENCES.get(component['bom-ref']);
  return component.licenses || id === undefined ? component : { ...component, licenses: [{ license: { id } }] };
}
