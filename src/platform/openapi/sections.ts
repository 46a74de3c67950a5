import type { Route } from '../routes/route.js';
import { isHidden } from './operation-faults.js';
import { type SectionOptions, sectionOf } from './section.decorator.js';

/** The sections of all routes that are shown, in the order of these. */
export function sectionsOf(routes: readonly Route[]): SectionOptions[] {
  const sections = routes.flatMap((route) => (isHidden(route) ? [] : (sectionOf(route) ?? [])));
  return [...new Map(sections.map((section) => [section.title, section])).values()];
}

/** Controllers whose operations newcomers would find without a word of explanation, or with two different ones. */
export function sectionFaults(routes: readonly Route[]): string[] {
  const shown = routes.filter((route) => !isHidden(route));
  const unexplained = shown.filter((route) => !sectionOf(route)?.description.trim());
  const ambiguous = [...Map.groupBy(shown, (route) => sectionOf(route)?.title)].filter(
    ([, alike]) => new Set(alike.map((route) => sectionOf(route)?.description)).size > 1,
  );
  return [
    ...controllersOf(unexplained).map(
      (name) => `${name} has no section: add @Section({ title, description }), which tells newcomers what it is about.`,
    ),
    ...ambiguous.map(
      ([title, alike]) =>
        `${controllersOf(alike).join(' and ')} describe the section ${title} differently: share one object, or choose another title.`,
    ),
  ];
}

function controllersOf(routes: readonly Route[]): string[] {
  return [...new Set(routes.map(({ controller }) => controller.name))].toSorted();
}
