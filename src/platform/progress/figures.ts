/** A time that has passed, as `0:05` or `1:02:03`. */
export function passed(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const parts = hours > 0 ? [hours, pad(minutes), pad(seconds % 60)] : [minutes, pad(seconds % 60)];
  return parts.join(':');
}

/** How many of how many are done, and how quickly: `20,000 of 1,000,000 rows, 2 %, 41,000 a second`. */
export function done(what: string, count: number, total: number, milliseconds: number): string {
  const rate = count > 0 && milliseconds > 0 ? `, ${grouped((count / milliseconds) * 1000)} a second` : '';
  return `${grouped(count)} of ${grouped(total)} ${what}, ${share(count, total)}${rate}`;
}

/** A part of a whole as `43 %`, which is 100 only when nothing is left. */
export function share(count: number, total: number): string {
  return `${total > 0 ? Math.floor((Math.min(count, total) / total) * 100) : 100} %`;
}

function grouped(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}

function pad(part: number): string {
  return String(part).padStart(2, '0');
}
