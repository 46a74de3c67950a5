const SECRET = 'secret-variable';

/** What print-outs show in the place of a secret: that there is one. */
const SET = '[set]';

/** Marks a variable that may hold a password, which no print-out of the configuration shows. */
export function Secret(): PropertyDecorator {
  return (target, name) => {
    Reflect.defineMetadata(SECRET, true, target, name);
  };
}

/** The variables of a configuration as print-outs may show them; whether a {@link Secret} is set can be seen. */
export function printable(configuration: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(configuration).map(([name, value]: [string, unknown]) => [
      name,
      Reflect.hasMetadata(SECRET, configuration, name) && !isUnset(value) ? SET : value,
    ]),
  );
}

/** Whether this is the value of a variable, be it a list, that is not set. */
export function isUnset(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}
