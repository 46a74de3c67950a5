import { inOrder, type Summary } from './summary.ts';

/** Names of the servers in the chart, from above. */
const SERVERS: Readonly<Record<string, string>> = {
  ours: 'this service',
  ceiling: 'by hand, tuned',
  fastify: 'Fastify',
  express: 'Express',
  textbook: 'textbook Nest',
};

const BAR = 12;
const GAP = 3;
const GROUP_GAP = 20;
const TOP = 64;
const LEFT = 216;
const RIGHT = 60;
const WIDTH = 760;

const STYLE = `
  text { font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 15px; font-weight: 600 }
  .quiet { fill: #59636e }
  .workload { font-weight: 600 }
  .value { stroke: #fff; stroke-width: 4px; paint-order: stroke }
  .bar { fill: #9aa4b0 }
  .ours { fill: #0969da }
  .base { stroke: #59636e; stroke-dasharray: 3 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .quiet { fill: #9198a1 }
    .value { stroke: #0d1117 }
    .bar { fill: #656c76 }
    .ours { fill: #4493f8 }
    .base { stroke: #9198a1 }
  }
`;

/** Bars of the processor time that the base takes ÷ that of each server, by the workload. */
export function chartOf({ workloads }: Summary): string {
  const groups = inOrder(workloads).map(([workload, byServer]) => ({
    workload,
    bars: Object.entries(SERVERS).flatMap(([server, label]) => {
      const ratio = byServer[server]?.toBase?.processor;
      return ratio === undefined ? [] : [{ kind: server === 'ours' ? 'ours' : 'bar', label, ratio }];
    }),
  }));
  const most = Math.max(1, ...groups.flatMap(({ bars }) => bars.map(({ ratio }) => ratio)));
  const scale = (WIDTH - LEFT - RIGHT) / most;
  const shapes: string[] = [];
  let y = TOP;
  for (const { workload, bars } of groups) {
    shapes.push(text(0, y + BAR - 2, workload, 'workload'));
    for (const { kind, label, ratio } of bars) {
      shapes.push(text(LEFT - 8, y + BAR - 2, label, 'quiet', 'end'));
      shapes.push(`<rect class="${kind}" x="${LEFT}" y="${y}" width="${(ratio * scale).toFixed(1)}" height="${BAR}" rx="2"/>`);
      shapes.push(text(LEFT + ratio * scale + 6, y + BAR - 2, ratio.toFixed(2), 'value'));
      y += BAR + GAP;
    }
    y += GROUP_GAP;
  }
  const height = y - GROUP_GAP + 8;
  const one = (LEFT + scale).toFixed(1);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    '<title>Requests for one second of processor time, compared with a server written by hand</title>',
    `<style>${STYLE}</style>`,
    text(0, 18, 'Requests for one second of processor time', 'title'),
    text(0, 38, 'compared with a server written by hand on node:http and pg, which is 1; longer is better', 'quiet'),
    `<line class="base" x1="${one}" x2="${one}" y1="${TOP - 10}" y2="${height}"/>`,
    ...shapes,
    '</svg>\n',
  ].join('\n');
}

function text(x: number, y: number, content: string, kind = '', anchor = 'start'): string {
  return `<text class="${kind}" x="${x.toFixed(1)}" y="${y}" text-anchor="${anchor}">${content}</text>`;
}
