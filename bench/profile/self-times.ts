import { layerOf, layerWithoutCaller } from './layers.ts';
import type { Profile } from './profiler.ts';

/** Time in which a function itself was at work, for whom. */
export interface SelfTime {
  readonly name: string;
  readonly layer: string;
  readonly microseconds: number;
}

type Node = Profile['nodes'][number];

/** The self time of every function in every place of the call tree. What has no layer of its own works for its nearest caller that has. */
export function selfTimes({ nodes, samples = [], timeDeltas = [] }: Profile): SelfTime[] {
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)));
  const spent = new Map<number, number>();
  samples.forEach((id, index) => spent.set(id, (spent.get(id) ?? 0) + (timeDeltas[index] ?? 0)));
  return nodes
    .filter(({ callFrame }) => callFrame.functionName !== '(idle)')
    .map((node) => ({ name: nameOf(node), layer: layerFor(node, parents), microseconds: spent.get(node.id) ?? 0 }));
}

function layerFor(node: Node, parents: ReadonlyMap<number, Node>): string {
  for (let caller: Node | undefined = node; caller; caller = parents.get(caller.id)) {
    const layer = layerOf(caller.callFrame);
    if (layer !== undefined) {
      return layer;
    }
  }
  return layerWithoutCaller(node.callFrame);
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: Node): string {
  const file = url.replace(/^.*\/node_modules\/|^.*\/(?=build\/)/, '');
  return `${functionName || '(anonymous)'}${file && ` ${file}:${lineNumber + 1}`}`;
}
