import { HTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute';
import { PodMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor';
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule';
import ts from 'typescript';
import type { Manifest } from './manifests.js';

// Kinds that Kubernetes' own client does not know. Their models are generated from the sources of the Gateway API and of
// prometheus-operator: the types know every field, the validators also patterns and limits, but let unknown fields pass.

const MODELS = {
  HTTPRoute: [HTTPRoute, '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute'],
  PodMonitor: [PodMonitor, '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PodMonitor'],
  PrometheusRule: [PrometheusRule, '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule'],
} as const;

export function isCustom({ kind }: Manifest): boolean {
  return kind in MODELS;
}

/** Expects the models of a custom resource to know its kind, version and every field, and to accept their values. */
export function expectCustom(document: Manifest): void {
  const [Model, path] = MODELS[document.kind as keyof typeof MODELS];
  new Model(document as never).validate();
  expect(
    faultsOfTypes(`import type { I${document.kind} } from '${path}';
export const document: I${document.kind} = ${JSON.stringify(document)};`),
  ).toEqual([]);
}

/** Files of types that were read before. */
const read = new Map<string, ts.SourceFile | undefined>();

/** What TypeScript says of a module. */
function faultsOfTypes(source: string): string[] {
  const { ModuleKind, ModuleResolutionKind } = ts;
  const options = { module: ModuleKind.NodeNext, moduleResolution: ModuleResolutionKind.NodeNext, types: [] };
  const name = `${import.meta.dirname}/document.mts`;
  const host = ts.createCompilerHost(options);
  const readFile = host.getSourceFile.bind(host);
  host.getSourceFile = (file, target, ...others) => {
    if (file === name) return ts.createSourceFile(file, source, target);
    if (!read.has(file)) read.set(file, readFile(file, target, ...others));
    return read.get(file);
  };
  const program = ts.createProgram([name], { ...options, strict: true, skipLibCheck: true, noEmit: true }, host);
  return ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
