/** What a generated client has received, as its types have it. */
export interface Outcomes {
  created: { name: string; description?: string };
  isReplayed: boolean;
  walked: string[];
  /** Of each response that is a problem: its status, its type, a header, and its faults. */
  problems: [status: number, type: string, header: string | null, faults: (string | undefined)[][]][];
}

interface Problem {
  type: string;
  status: number;
  errors?: { pointer?: string; parameter?: string; code: string }[];
}

/** @param header - of those that the response has */
export function outcomeOf(
  { type, status, errors = [] }: Problem,
  { headers }: { headers: Headers },
  header: string,
): Outcomes['problems'][0] {
  return [status, type, headers.get(header), errors.map(({ pointer, parameter, code }) => [pointer ?? parameter, code])];
}

declare const process: { argv: string[] };

/** The addresses of a service and of one whose database is away, and tokens: with all scopes, and with one of them. */
export const [, , origin = '', awayOrigin = '', token = '', readerToken = ''] = process.argv;
