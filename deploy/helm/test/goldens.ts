import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse, parseAllDocuments } from 'yaml';

export const HELM = fileURLToPath(new URL('..', import.meta.url));
export const VALUE_SETS = readdirSync(`${HELM}values`).map((file) => file.replace(/\.yaml$/, ''));

export interface Labels {
  readonly [name: string]: string;
}
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly resources: { readonly requests: Labels; readonly limits: Labels };
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly startupProbe?: Probe;
}
export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}
export interface PodTemplate {
  readonly metadata: { readonly labels: Labels };
  readonly spec: {
    readonly terminationGracePeriodSeconds?: number;
    readonly automountServiceAccountToken: boolean;
    readonly securityContext: Readonly<Record<string, unknown>>;
    readonly containers: readonly Container[];
    readonly volumes: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
  };
}
interface JobSpec {
  readonly template?: PodTemplate;
}
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Labels;
    readonly annotations?: Labels;
  };
  /** Of a ConfigMap. */
  readonly data?: Labels;
  /** Of a Secret. */
  readonly stringData?: Labels;
  // oxlint-disable-next-line typescript/no-explicit-any -- each test names its kind
  readonly spec: any;
}

/** Reads a values file of this package. */
export function readValues(file: string): { readonly environment?: Readonly<Record<string, unknown>> } {
  return parse(readFileSync(`${HELM}${file}`, 'utf8')) as ReturnType<typeof readValues>;
}

/** Reads the rendered manifests of a value set. */
export function readGolden(name: string): readonly Manifest[] {
  const text = readFileSync(`${HELM}goldens/${name}.yaml`, 'utf8');
  return parseAllDocuments(text).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS() as Manifest;
  });
}

/** Returns Deployments and Jobs with their pods. */
export function workloadsOf(
  manifests: readonly Manifest[],
): { readonly manifest: Manifest; readonly pod: PodTemplate }[] {
  return manifests
    .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
    .map((manifest) => ({ manifest, pod: (manifest.spec as { template: PodTemplate }).template }));
}

/** Returns CronJobs with the pods of their Jobs. */
export function cronJobsOf(
  manifests: readonly Manifest[],
): { readonly manifest: Manifest; readonly pod: PodTemplate }[] {
  return manifests
    .filter(({ kind }) => kind === 'CronJob')
    .map((manifest) => ({
      manifest,
      pod: (manifest.spec as { jobTemplate: { spec: { template: PodTemplate } } }).jobTemplate.spec.template,
    }));
}

/** Returns the labels of all pods: services, jobs, the evaluation's servers, `helm test`. */
export function podLabels(manifests: readonly Manifest[]): Labels[] {
  return manifests.flatMap(({ kind, metadata, spec }) => {
    if (kind === 'Pod') return [metadata.labels];
    const { template, jobTemplate } = (spec ?? {}) as JobSpec & { jobTemplate?: { spec: JobSpec } };
    return [template, jobTemplate?.spec.template].flatMap((pod) => (pod === undefined ? [] : [pod.metadata.labels]));
  });
}

export function selects(selector: Labels, labels: Labels): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}
