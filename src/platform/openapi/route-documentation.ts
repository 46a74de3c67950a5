import { applyDecorators, type HttpStatus, SetMetadata, type Type } from '@nestjs/common';
import { ApiExcludeController, ApiTags } from '@nestjs/swagger';
import type { ProblemType } from '../http/problem-type.js';
import { metadataOf, type Route } from '../routes/route.js';

/** Metadata key of {@link Hidden}. */
export const HIDDEN = 'hidden';

/** A controller for operators and browsers, which the OpenAPI document leaves out. It may be called with any query. */
export function Hidden(): ClassDecorator {
  return applyDecorators(ApiExcludeController(), SetMetadata(HIDDEN, true));
}

/** Whether a route is of a {@link Hidden} controller. */
export function isHidden(route: Pick<Route, 'controller' | 'handler'>): boolean {
  return metadataOf(HIDDEN, route) === true;
}

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

/** What only the route itself can say about an operation; everything else in the document is derived. */
export interface OperationOptions {
  summary: string;
  description?: string;
  /** Class of the successful response, or `[LoanDto]` for a list: clients get its properties with `@ApiProperty`. None for no body. */
  response?: Type<object> | [Type<object>];
  /** What the successful response is. */
  responseDescription?: string;
  /** Status of the successful response, which this sets as well; 200 unless given. */
  status?: HttpStatus;
  /** Types of the problems that the handler raises beside those of the platform. */
  problems?: readonly ProblemType[];
}

/** Metadata key of `@Operation`. */
export const OPERATION = 'operation';

/** What `@Operation` says of a route; undefined for a route without. */
export function operationOf(route: Pick<Route, 'controller' | 'handler'>): OperationOptions | undefined {
  return metadataOf(OPERATION, route) as OperationOptions | undefined;
}

/** The operation id of a route: its name where it has an `@Operation`, otherwise Nest's own, with the controller before it. */
export function operationIdOf(route: Route): string {
  return operationOf(route) ? route.name : `${route.controller.name}_${route.name}`;
}
