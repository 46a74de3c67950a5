/** A name that a source file imports and declares, or imports twice. */
export function duplicateName(source: string): string | undefined {
  const imported = [...source.matchAll(/^import (?:type )?\{(?<names>[^}]+)\}/gm)]
    .flatMap(({ groups }) => groups?.['names']?.split(',') ?? [])
    .map((name) => name.trim().replace(/^type /, ''))
    .filter(Boolean);
  const declared = [...source.matchAll(/^(?:export )?(?:abstract )?class (?<name>\w+)/gm)].map(
    ({ groups }) => groups?.['name'] ?? '',
  );
  const names = [...imported, ...declared];
  return names.find((name, index) => names.indexOf(name) !== index);
}
