import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { metadataOf, type Route } from '../routes/route.js';

/** A part of the document and of the console: a tag of OpenAPI, with operations of one or several controllers. */
export interface SectionOptions {
  /** One or two words, the heading: `Widgets`. */
  title: string;
  /** What this is about, for readers who have never heard of it. Markdown. */
  description: string;
}

const SECTION = 'section';

/** Puts the operations of a controller into a section. Controllers may share one: give each the same object. */
export function Section(options: SectionOptions): ClassDecorator {
  return applyDecorators(SetMetadata(SECTION, options), ApiTags(options.title));
}

/** The sections of all documented routes, in the order of these. */
export function sectionsOf(routes: readonly Route[]): SectionOptions[] {
  const sections = routes.flatMap((route) => (metadataOf(SECTION, route) as SectionOptions | undefined) ?? []);
  return [...new Map(sections.map((section) => [section.title, section])).values()];
}
