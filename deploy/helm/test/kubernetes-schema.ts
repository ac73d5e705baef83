import { DaemonSet, Deployment, StatefulSet } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { CronJob, Job } from 'kubernetes-models/batch/v1';
import { Ingress, NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Namespace, Pod, Secret, Service } from 'kubernetes-models/v1';
import type { Manifest } from './goldens.js';

const MODELS: Readonly<Record<string, { readonly prototype: { validate(): void } }>> = {
  'apps/v1 DaemonSet': DaemonSet,
  'apps/v1 Deployment': Deployment,
  'apps/v1 StatefulSet': StatefulSet,
  'autoscaling/v2 HorizontalPodAutoscaler': HorizontalPodAutoscaler,
  'batch/v1 CronJob': CronJob,
  'batch/v1 Job': Job,
  'networking.k8s.io/v1 Ingress': Ingress,
  'networking.k8s.io/v1 NetworkPolicy': NetworkPolicy,
  'policy/v1 PodDisruptionBudget': PodDisruptionBudget,
  'v1 ConfigMap': ConfigMap,
  'v1 Namespace': Namespace,
  'v1 Pod': Pod,
  'v1 Secret': Secret,
  'v1 Service': Service,
};
/** Kinds of operators, which have their own schemas. */
const CUSTOM = [
  'monitoring.coreos.com/v1 ServiceMonitor',
  'monitoring.coreos.com/v1 PrometheusRule',
  'gateway.networking.k8s.io/v1 HTTPRoute',
  'external-secrets.io/v1 ExternalSecret',
];

/**
 * Returns wrong types, missing fields and unknown fields. The validators are compiled from
 * Kubernetes' schemas and ignore unknown fields, so a field that no validator has read is unknown.
 */
export function schemaProblems(manifest: Manifest): string[] {
  const kind = `${manifest.apiVersion} ${manifest.kind}`;
  if (CUSTOM.includes(kind)) return [];
  const Model = MODELS[kind];
  if (Model === undefined) return [`${kind} is not a kind that is checked here`];
  const unread: string[] = [];
  const watched = watch(structuredClone(manifest), '', unread);
  try {
    // Called on the watched object itself, because a model would copy it.
    Model.prototype.validate.call(watched.data);
  } catch (error) {
    return [(error as Error).message];
  }
  watched.finish();
  return unread.map((path) => `${path} is not a field of ${kind}`);
}

interface Watched {
  readonly data: unknown;
  /** Adds the paths of unread fields. */
  finish(): void;
}

function watch(value: unknown, path: string, unread: string[]): Watched {
  if (typeof value !== 'object' || value === null) return { data: value, finish: () => undefined };
  const read = new Set<string>();
  const children = new Map<string, Watched>();
  const copy = Array.isArray(value) ? [] : {};
  for (const [key, item] of Object.entries(value)) children.set(key, watch(item, `${path}/${key}`, unread));
  for (const [key, child] of children) Object.defineProperty(copy, key, { value: child.data, enumerable: true });
  const data = new Proxy(copy, {
    get(target, key, receiver) {
      if (typeof key === 'string') read.add(key);
      return Reflect.get(target, key, receiver) as unknown;
    },
    ownKeys(target) {
      // Enumerated, so the object is a map with free keys.
      for (const key of children.keys()) read.add(key);
      return Reflect.ownKeys(target);
    },
  });
  return {
    data,
    finish() {
      for (const [key, child] of children) {
        if (read.has(key)) child.finish();
        else unread.push(`${path}/${key}`);
      }
    },
  };
}
