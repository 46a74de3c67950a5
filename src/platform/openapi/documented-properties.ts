import type { Type } from '@nestjs/common';
import type { ApiPropertyOptions } from '@nestjs/swagger';

/** Where `@nestjs/swagger` keeps the names of the properties of a class that are documented, each behind a colon. */
const PROPERTIES = 'swagger/apiModelPropertiesArray';
/** And what is said of each. */
const PROPERTY = 'swagger/apiModelProperties';

/** What a class says of its properties with `@ApiProperty`, or a rule that does it, by their names; inherited ones, too. */
export function documentedProperties({ prototype }: Type<object>): Record<string, ApiPropertyOptions> {
  const names = (Reflect.getMetadata(PROPERTIES, prototype as object) ?? []) as string[];
  return Object.fromEntries(
    names
      .map((name) => name.slice(1))
      .map((name) => [name, Reflect.getMetadata(PROPERTY, prototype as object, name) as ApiPropertyOptions]),
  );
}

/** The documented class that a property is of, or is a list of. */
export function classOf({ type }: ApiPropertyOptions): Type<object> | undefined {
  const [resolved] = [isLazy(type) ? type() : type].flat();
  const isClass = typeof resolved === 'function' && resolved.prototype !== undefined;
  return isClass && Object.keys(documentedProperties(resolved as Type<object>)).length > 0
    ? (resolved as Type<object>)
    : undefined;
}

/** `() => WidgetDto`, for classes that are defined further below. */
function isLazy(type: unknown): type is () => unknown {
  return typeof type === 'function' && type.prototype === undefined;
}
