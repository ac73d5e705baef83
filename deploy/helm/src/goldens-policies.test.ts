import { randomBytes } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { evaluationUrls } from '../../../tools/operations/src/secrets/kubernetes-rules.js';
import { makeSecrets } from '../../../tools/operations/src/secrets/make-secrets-rules.js';
import { environmentProblems, PROGRAM_FIELDS, valueProblems } from '../../../tools/operations/test/service-fields.js';
import { IMAGES } from '../../docker/recipe.mjs';
import {
  HELM,
  VALUE_SETS,
  cronJobsOf,
  podLabels,
  readGolden,
  readValues,
  selects,
  workloadsOf,
  type Labels,
  type Manifest,
  type PodTemplate,
} from '../test/goldens.js';

const EDGE_GRACE_SECONDS_MIN = 660;
/** Returns the program of a component. The operator API is a dashboard that serves nothing else. */
const programOf = (component: string): string => (component === 'operator' ? 'dashboard' : component);
const COMPONENTS = ['accounts', 'admission', 'billing', 'catalog', 'dashboard', 'edge-proxy', 'operator'];

const componentOf = ({ metadata }: Pick<Manifest, 'metadata'>) => metadata.labels['app.kubernetes.io/component'] ?? '';
const podsOf = (manifests: readonly Manifest[]) =>
  [...workloadsOf(manifests), ...cronJobsOf(manifests)].map(({ pod }) => pod.metadata.labels);

const variablesOf = ({ spec }: PodTemplate): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries((spec.containers[0]?.env ?? []).map(({ name, value }) => [name, value]));

test('every value set renders every component', () => {
  for (const name of VALUE_SETS) {
    const deployments = readGolden(name).filter(({ kind }) => kind === 'Deployment');
    expect([name, deployments.map(componentOf).sort()]).toEqual([name, COMPONENTS]);
  }
});

test.each(VALUE_SETS)('%s: containers are bounded, unprivileged and read-only', (name) => {
  const manifests = readGolden(name);
  for (const { pod } of [...workloadsOf(manifests), ...cronJobsOf(manifests)]) {
    expect(pod.spec.automountServiceAccountToken).toBe(false);
    expect(pod.spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      // One value set leaves the IDs to the platform.
      ...(name === 'gateway-api' ? {} : { runAsUser: 65532, fsGroup: 65532 }),
      seccompProfile: { type: 'RuntimeDefault' },
    });
    for (const { image, resources, securityContext } of pod.spec.containers) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(image).toMatch(/^[\w./-]+:\d+\.\d+\.\d+$/);
      expect(Object.keys(resources.requests).sort()).toEqual(['cpu', 'memory']);
      expect(resources.limits['memory']).toBeDefined();
    }
  }
});

test.each(VALUE_SETS)('%s: probes use the process or replica endpoints on an existing port', (name) => {
  for (const { manifest, pod } of workloadsOf(readGolden(name)).filter(
    ({ manifest: { kind } }) => kind === 'Deployment',
  )) {
    for (const { livenessProbe, readinessProbe, startupProbe, ports = [] } of pod.spec.containers) {
      expect([livenessProbe, startupProbe].map((probe) => probe?.httpGet.path)).toEqual(['/healthz', '/healthz']);
      expect(readinessProbe?.httpGet.path).toBe('/readyz');
      const names = ports.map((port) => port.name);
      for (const probe of [livenessProbe, readinessProbe, startupProbe]) expect(names).toContain(probe?.httpGet.port);
    }
    expect(manifest.spec).toMatchObject({ strategy: { rollingUpdate: { maxUnavailable: 0 } } });
  }
});

test.each(VALUE_SETS)('%s: a stopped edge may finish its calls', (name) => {
  const edge = workloadsOf(readGolden(name)).find(({ manifest }) => componentOf(manifest) === 'edge-proxy');
  const graceMs = (edge?.pod.spec.terminationGracePeriodSeconds ?? 0) * 1000;
  const drain = edge?.pod.spec.containers[0]?.env?.find((variable) => variable.name === 'GATEWAY_DRAIN_MS')?.value;
  expect(graceMs).toBeGreaterThan(EDGE_GRACE_SECONDS_MIN * 1000);
  expect(graceMs).toBeGreaterThan(Number(drain) + 20_000);
});

test.each(VALUE_SETS)("%s: each program gets exactly its schema's variables, and secrets as files", (name) => {
  // Variables for all components are set for each, even if it does not read them.
  const forAll = Object.keys(readValues(`values/${name}.yaml`).environment ?? {});
  for (const { manifest, pod } of workloadsOf(readGolden(name))) {
    const names = pod.spec.containers[0]?.env?.map((variable) => variable.name) ?? [];
    expect(names.filter((variable, index) => names.indexOf(variable) !== index)).toEqual([]);
    const program = programOf(componentOf(manifest));
    const problems = environmentProblems(program, names);
    const strange = forAll.map((variable) => `${variable} is not read by ${program}`);
    expect(problems.filter((problem) => !strange.includes(problem))).toEqual([]);
    expect(valueProblems(program, variablesOf(pod))).toEqual([]);
    expect(pod.spec.volumes.map(({ secret }) => secret?.secretName).filter(Boolean)).toContain(`gateway-${program}`);
  }
});

test("a component's false, 0 and empty text override the common value", () => {
  const variables = Object.fromEntries(
    workloadsOf(readGolden('environment')).map(({ manifest, pod }) => [componentOf(manifest), variablesOf(pod)]),
  );
  expect(variables['edge-proxy']).toMatchObject({
    GATEWAY_ALLOW_PRIVATE_SOURCES: 'true',
    GATEWAY_LOG_LEVEL: 'warn',
    GATEWAY_UPSTREAM_DEADLINE_MS: '1800000',
    GATEWAY_READ_AFTER_DISCONNECT_MS: '0',
    GATEWAY_TRACE_RATIO: '0.00001',
  });
  expect(variables['admission']).toMatchObject({
    GATEWAY_TRACE_RATIO: '0',
    GATEWAY_USAGE_STREAM_BYTES: '1099511627776',
  });
  expect(variables['catalog']).toMatchObject({ GATEWAY_ALLOW_PRIVATE_SOURCES: 'false', GATEWAY_LOG_LEVEL: '' });
  expect(variables['dashboard']).toMatchObject({ GATEWAY_TEAMS_ENABLED: 'false', GATEWAY_LOG_LEVEL: 'warn' });
});

test.each(VALUE_SETS)('%s: each creator of streams or buckets gets the number of replicas', (name) => {
  const copies = name === 'evaluation' ? '1' : '3';
  const told = workloadsOf(readGolden(name)).flatMap(({ manifest, pod }) => {
    const value = variablesOf(pod)['GATEWAY_STREAM_REPLICAS'];
    return value === undefined ? [] : [[componentOf(manifest), value]];
  });
  expect(told.sort()).toEqual(
    ['accounts', 'admission', 'billing', 'catalog', 'edge-proxy'].map((component) => [component, copies]),
  );
});

test.each([
  ['dashboard', 'GATEWAY_DASHBOARD_PROXIES'],
  ['edge-proxy', 'GATEWAY_EDGE_PROXIES'],
])("%s trusts the chart's one proxy, none without it, or the number in values", (component, variable) => {
  const proxiesIn = (name: string) =>
    workloadsOf(readGolden(name))
      .filter(({ manifest }) => componentOf(manifest) === component)
      .map(({ pod }) => variablesOf(pod)[variable]);
  expect(VALUE_SETS.map((name) => [name, ...proxiesIn(name)]).sort()).toEqual([
    ['environment', '0'],
    ['evaluation', '0'],
    ['gateway-api', '1'],
    ['production', '1'],
  ]);
});

test.each(VALUE_SETS)('%s: every selector finds pods, and no two deployments share them', (name) => {
  const manifests = readGolden(name);
  const pods = podLabels(manifests);
  for (const { kind, spec = {}, metadata } of manifests) {
    const selector = selectorOf(kind, spec as Spec);
    if (selector === undefined) continue;
    const found = pods.filter((labels) => selects(selector, labels));
    expect([metadata.name, found.length > 0]).toEqual([metadata.name, true]);
    if (kind === 'Deployment') expect(found).toHaveLength(1);
  }
});

test.each(VALUE_SETS)('%s: routes, autoscalers and monitors refer to existing objects', (name) => {
  const manifests = readGolden(name);
  const has = (kind: string, wanted: string) => manifests.some((m) => m.kind === kind && m.metadata.name === wanted);
  for (const { kind, spec = {} } of manifests) {
    const { scaleTargetRef, rules, selector } = spec as Spec;
    if (kind === 'HorizontalPodAutoscaler') {
      expect(has('Deployment', scaleTargetRef?.name ?? '')).toBe(true);
      expect(
        manifests.find((m) => m.kind === 'Deployment' && m.metadata.name === scaleTargetRef?.name)?.spec,
      ).not.toHaveProperty('replicas');
    }
    if (kind === 'Ingress') expect(has('Service', rules?.[0]?.http?.paths[0]?.backend.service.name ?? '')).toBe(true);
    if (kind === 'HTTPRoute') expect(has('Service', rules?.[0]?.backendRefs?.[0]?.name ?? '')).toBe(true);
    if (kind === 'ServiceMonitor') {
      const monitored = manifests.filter(
        (m) => m.kind === 'Service' && selects((selector as MatchLabels).matchLabels, m.metadata.labels),
      );
      expect(monitored.map(componentOf).sort()).toEqual(COMPONENTS);
    }
  }
});

test('no route cuts a running stream, and idle timeouts exceed a plain request', () => {
  const routes = readGolden('gateway-api').filter(({ kind }) => kind === 'HTTPRoute');
  expect(routes.map(componentOf).sort()).toEqual(['dashboard', 'edge-proxy']);
  for (const { spec } of routes) {
    expect((spec as Spec).rules?.map(({ timeouts }) => timeouts)).toEqual([{ request: '0s' }]);
  }
  const deadline = PROGRAM_FIELDS['edge-proxy']?.find(({ name }) => name === 'GATEWAY_UPSTREAM_DEADLINE_MS');
  const ingresses = readGolden('production').filter(({ kind }) => kind === 'Ingress');
  expect(ingresses).toHaveLength(2);
  for (const { metadata } of ingresses) {
    const seconds = Number(metadata.annotations?.['nginx.ingress.kubernetes.io/proxy-read-timeout']);
    expect(seconds * 1000).toBeGreaterThan(Number(deadline?.default));
  }
});

test('the network is closed for every pod except for what its component needs', () => {
  for (const name of ['evaluation', 'production']) {
    const manifests = readGolden(name);
    const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy');
    const deny = policies.find(({ spec }) => !('ingress' in spec) && !('egress' in spec))?.spec as Spec;
    expect(deny.policyTypes).toEqual(['Ingress', 'Egress']);
    for (const labels of podsOf(manifests)) {
      expect(selects(deny.podSelector?.matchLabels ?? {}, labels)).toBe(true);
      const own = policies.filter(
        ({ spec }) => spec !== deny && selects((spec as Spec).podSelector?.matchLabels ?? {}, labels),
      );
      expect(own).toHaveLength(1);
    }
    const out = (component: string) => portsOf(policies, component, 'egress');
    const redis = name === 'production' ? 6380 : 6379;
    expect(policies.map(componentOf).filter((component) => out(component).includes(redis))).toEqual(['admission']);
    expect(
      policies
        .map(componentOf)
        .filter((component) => out(component).includes(5432))
        .sort(),
    ).toEqual(['accounts', 'billing', 'catalog', 'migrate', ...jobNames(manifests)].sort());
    expect(jobNames(manifests).filter((job) => out(job).includes(4222))).toEqual(
      name === 'production' ? ['restore'] : [],
    );
    for (const job of jobNames(manifests)) expect([job, portsOf(policies, job, 'ingress')]).toEqual([job, []]);
    expect(
      policies
        .map(componentOf)
        .filter((component) => out(component).includes(443))
        .sort(),
    ).toEqual(['billing', 'edge-proxy']);
    expect(portsOf(policies, 'edge-proxy', 'ingress')).not.toContain(8082);
    // 9090 twice: for Prometheus and for `helm test`.
    expect(portsOf(policies, 'dashboard', 'ingress').sort()).toEqual([8081, 9090, 9090]);
    expect(portsOf(policies, 'operator', 'ingress').sort()).toEqual([8082, 9090, 9090]);
    expect(out('operator')).not.toContain(8080);
    expect(portsOf(policies, 'billing', 'ingress')).toEqual([9090, 9090]);
  }
});

test('admission reaches the Sentinels if the values name their ports', () => {
  const outOf = (name: string) =>
    portsOf(
      readGolden(name).filter(({ kind }) => kind === 'NetworkPolicy'),
      'admission',
      'egress',
    );
  expect(outOf('production')).toEqual(expect.arrayContaining([6380, 26_379]));
  expect(outOf('evaluation')).not.toContain(26_379);
});

test('migrations run before the new code, and the hook may be repeated', () => {
  const job = readGolden('production').find(({ kind }) => kind === 'Job');
  expect(job?.metadata.annotations).toMatchObject({
    'helm.sh/hook': 'pre-install,pre-upgrade',
    'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
  });
  expect(job?.spec).toMatchObject({
    ttlSecondsAfterFinished: 86_400,
    template: {
      metadata: { annotations: { 'sidecar.istio.io/inject': 'false', 'linkerd.io/inject': 'disabled' } },
      spec: { restartPolicy: 'Never' },
    },
  });
  expect(readGolden('gateway-api').some(({ kind }) => kind === 'Job')).toBe(false);
});

test("the migration's network policy is created before its job", () => {
  for (const name of ['environment', 'production']) {
    const manifests = readGolden(name);
    const weightOf = (kind: string) => {
      const found = manifests.find((manifest) => manifest.kind === kind && componentOf(manifest) === 'migrate');
      expect(found?.metadata.annotations?.['helm.sh/hook']).toBe('pre-install,pre-upgrade');
      return Number(found?.metadata.annotations?.['helm.sh/hook-weight']);
    };
    expect(weightOf('NetworkPolicy')).toBeLessThan(weightOf('Job'));
  }
});

test('the alert for a failed migration uses the name of the job', () => {
  const manifests = readGolden('production');
  const job = manifests.find(({ kind }) => kind === 'Job')?.metadata.name;
  const { groups } = manifests.find(({ kind }) => kind === 'PrometheusRule')?.spec as {
    groups: { rules: { alert: string; expr: string }[] }[];
  };
  const rule = groups.flatMap(({ rules }) => rules).find(({ alert }) => alert === 'GatewayMigrationFailed');
  expect(rule?.expr).toContain(`{job_name="${job}", condition="true"}`);
});

test('the migration gets the finance role and whether it creates roles', () => {
  const toldIn = (name: string) => {
    const job = workloadsOf(readGolden(name)).find(({ manifest }) => manifest.kind === 'Job');
    const variables = job === undefined ? {} : variablesOf(job.pod);
    return [variables['GATEWAY_FINANCE_ROLE'], variables['GATEWAY_EXTERNAL_ROLES']];
  };
  expect(toldIn('evaluation')).toEqual(['gateway_finance', 'false']);
  expect(toldIn('environment')).toEqual(['gateway_finance_two', 'true']);
});

test.each(VALUE_SETS)('%s: pods of one release are spread independently of earlier ones', (name) => {
  for (const { manifest, pod } of workloadsOf(readGolden(name)).filter((one) => one.manifest.kind === 'Deployment')) {
    const { topologySpreadConstraints: spread, affinity } = pod.spec as unknown as {
      topologySpreadConstraints: readonly object[];
      affinity: { podAntiAffinity: object };
    };
    const required = { minDomains: 2, whenUnsatisfiable: 'DoNotSchedule' };
    const preferred = { whenUnsatisfiable: 'ScheduleAnyway' };
    // With two constraints, nothing would be spread over nodes without the label of the second.
    expect([manifest.metadata.name, spread]).toEqual([
      manifest.metadata.name,
      [
        expect.objectContaining({
          topologyKey: 'kubernetes.io/hostname',
          matchLabelKeys: ['pod-template-hash'],
          ...(name === 'production' ? required : preferred),
        }),
      ],
    ]);
    const term = { topologyKey: 'topology.kubernetes.io/zone', matchLabelKeys: ['pod-template-hash'] };
    expect(affinity.podAntiAffinity).toMatchObject({
      preferredDuringSchedulingIgnoredDuringExecution: [{ podAffinityTerm: term }],
    });
  }
});

test('each host has its own certificate', () => {
  const ingresses = readGolden('production').filter(({ kind }) => kind === 'Ingress');
  const secrets = ingresses.map(({ spec }) => (spec as { tls: { secretName: string }[] }).tls[0]?.secretName);
  expect(secrets.sort()).toEqual(['gateway-api-tls', 'gateway-console-tls']);
});

test('an edge waits for its load balancer and stores usage on the named volume', () => {
  const edge = workloadsOf(readGolden('production')).find(({ manifest }) => componentOf(manifest) === 'edge-proxy');
  const { metadata, spec } = edge?.pod as PodTemplate & { metadata: { annotations?: Labels } };
  expect(JSON.stringify(spec.containers[0])).toContain('"command":["sleep","30"]');
  expect(spec.terminationGracePeriodSeconds).toBe(725);
  expect(metadata.annotations).toMatchObject({ 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false' });
  const variables = variablesOf(edge?.pod as PodTemplate);
  expect(variables['GATEWAY_HTTP_KEEP_ALIVE_MS']).toBe('620000');
  expect(spec.containers[0]).toMatchObject({
    volumeMounts: expect.arrayContaining([
      { name: 'spool', mountPath: variables['GATEWAY_USAGE_SPOOL_DIRECTORY'] },
    ]) as unknown,
  });
  expect(spec.volumes).toContainEqual({ name: 'spool', persistentVolumeClaim: { claimName: 'gateway-spool' } });
});

test('an empty list permits no traffic', () => {
  for (const { metadata, spec } of readGolden('production').filter(({ kind }) => kind === 'NetworkPolicy')) {
    const { ingress = [], egress = [] } = spec as { ingress?: object[]; egress?: object[] };
    for (const rule of ingress)
      expect([metadata.name, rule]).toEqual([
        metadata.name,
        expect.objectContaining({ from: expect.anything() as unknown }),
      ]);
    for (const rule of egress)
      expect([metadata.name, rule]).toEqual([
        metadata.name,
        expect.objectContaining({ to: expect.anything() as unknown }),
      ]);
  }
});

test("the evaluation's servers are those of the made URLs, pinned and unprivileged", () => {
  const manifests = readGolden('evaluation');
  const images = parse(readFileSync(`${HELM}model-gateway/files/images.yaml`, 'utf8')) as {
    services: Record<string, { image: string }>;
  };
  for (const [server, address] of Object.entries(evaluationUrls('gw'))) {
    const { hostname, port } = new URL(address);
    const service = manifests.find(({ kind, metadata }) => kind === 'Service' && metadata.name === hostname);
    expect((service?.spec as { ports: readonly { port: number }[] }).ports.map((one) => String(one.port))).toEqual([
      port,
    ]);
    const set = manifests.find(({ kind, metadata }) => kind === 'StatefulSet' && metadata.name === hostname);
    const { spec } = (set?.spec as { template: PodTemplate }).template;
    expect(spec.automountServiceAccountToken).toBe(false);
    expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(spec.volumes.flatMap(({ secret }) => secret?.secretName ?? [])).toEqual([`gateway-${server}`]);
    const { image, securityContext } = spec.containers[0] ?? {};
    expect([image, securityContext]).toEqual([
      images.services[server]?.image,
      { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
    ]);
  }
  // Not before the servers, and each revision has its own name, because a Job cannot change.
  const job = manifests.find(({ kind }) => kind === 'Job');
  expect([job?.metadata.name, job?.metadata.annotations]).toEqual(['gw-model-gateway-migrate-1', undefined]);
});

test('the dashboards have the label of the sidecar and the text of deploy/observe', () => {
  const maps = readGolden('production').filter(({ kind }) => kind === 'ConfigMap');
  const folder = `${HELM}../observe/grafana/dashboards/`;
  expect(maps.flatMap(({ data = {} }) => Object.keys(data)).sort()).toEqual(readdirSync(folder).sort());
  for (const { metadata, data = {} } of maps) {
    expect(metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    for (const [file, text] of Object.entries(data)) {
      expect(JSON.parse(text)).toEqual(JSON.parse(readFileSync(`${folder}${file}`, 'utf8')));
    }
  }
});

test('edges scale by a metric that an edge has', () => {
  const hpa = readGolden('production').find(
    (manifest) => manifest.kind === 'HorizontalPodAutoscaler' && componentOf(manifest) === 'edge-proxy',
  );
  const names = (hpa?.spec as { metrics: readonly { pods?: { metric: { name: string } } }[] }).metrics.flatMap(
    ({ pods }) => pods?.metric.name ?? [],
  );
  expect(names).toEqual(['gateway_edge_requests_open']);
  expect(readFileSync(`${HELM}../../services/edge-proxy/src/service.ts`, 'utf8')).toContain(`gauge('${names[0]}'`);
});

test('the jobs of each value set run or wait as the values say', () => {
  const stateOf = (name: string) =>
    cronJobsOf(readGolden(name)).map(({ manifest: { metadata, spec } }) => {
      const { suspend, schedule } = spec as { suspend: boolean; schedule: string };
      return [metadata.name, suspend ? 'waits' : schedule];
    });
  expect(stateOf('production')).toEqual([
    ['gw-model-gateway-audit', '20 3 * * 0'],
    ['gw-model-gateway-backup', '20 1 * * *'],
    ['gw-model-gateway-chain-heads', '50 * * * *'],
    ['gw-model-gateway-reseal', 'waits'],
    ['gw-model-gateway-restore', 'waits'],
  ]);
  // No claim, no backups.
  expect(stateOf('evaluation').map(([job]) => job)).toEqual(['gw-model-gateway-audit', 'gw-model-gateway-reseal']);
  expect(stateOf('gateway-api')).toEqual([]);
});

test('a job is bounded, has a command of its image, and only its own secrets', () => {
  const made = makeSecrets({}, { urls: evaluationUrls('gw'), random: randomBytes }).secrets;
  for (const { manifest, pod } of cronJobsOf(readGolden('production'))) {
    const job = componentOf(manifest);
    expect(manifest.spec).toMatchObject({
      concurrencyPolicy: 'Forbid',
      timeZone: 'Etc/UTC',
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 3,
      jobTemplate: {
        spec: {
          activeDeadlineSeconds: expect.any(Number),
          backoffLimit: ['restore', 'audit'].includes(job) ? 0 : 2,
          ttlSecondsAfterFinished: 604_800,
        },
      },
    });
    const [container] = pod.spec.containers as unknown as readonly { args: readonly string[]; image: string }[];
    expect(container?.image).toBe('registry.example.com/gateway/operate:0.1.0');
    expect(Object.keys(IMAGES['operate']?.commands ?? {})).toContain(container?.args[0]);
    const sources = pod.spec.volumes.flatMap((volume) => (volume as ProjectedVolume).projected?.sources ?? []);
    const files = sources.flatMap(({ secret }) => secret.items.map(({ key }) => [secret.name, key] as const));
    expect(files.map(([, key]) => key).sort()).toEqual(KEYS_OF_JOBS[job]);
    for (const [secret, key] of files) {
      const consumer = secret.replace('gateway-', '') as keyof typeof made;
      expect([job, secret, key, made[consumer]?.[key]]).toEqual([job, secret, key, expect.any(String)]);
    }
    // Each file is read, and each file that is read exists.
    const read = Object.entries(variablesOf(pod)).flatMap(([variable, value]) =>
      value?.startsWith('/run/secrets/gateway/') ? [[variable, value.replace('/run/secrets/gateway/', '')]] : [],
    );
    expect([...new Set(read.map(([, file]) => file))].sort()).toEqual(KEYS_OF_JOBS[job]);
    const onVolume = pod.spec.volumes.some(({ name }) => name === 'backups');
    expect([job, onVolume]).toEqual([job, JSON.stringify(container?.args).includes('/backups')]);
  }
});

/** The keys of Secrets that each job gets. */
const KEYS_OF_JOBS: Readonly<Record<string, readonly string[]>> = {
  audit: ['GATEWAY_POSTGRES_URL'],
  backup: ['GATEWAY_MIGRATION_URL'],
  'chain-heads': ['GATEWAY_POSTGRES_URL'],
  reseal: ['GATEWAY_BILLING_POSTGRES_URL', 'GATEWAY_CATALOG_POSTGRES_URL', 'GATEWAY_SOURCE_PRIVATE_KEY'],
  restore: [
    'GATEWAY_ACCOUNTS_POSTGRES_URL',
    'GATEWAY_BILLING_POSTGRES_URL',
    'GATEWAY_CATALOG_POSTGRES_URL',
    'GATEWAY_FINANCE_PASSWORD',
    'GATEWAY_MIGRATION_URL',
    'GATEWAY_NATS_URL',
  ],
};

const jobNames = (manifests: readonly Manifest[]): string[] =>
  cronJobsOf(manifests).map(({ manifest }) => componentOf(manifest));

interface ProjectedVolume {
  readonly projected?: {
    readonly sources: readonly {
      readonly secret: { readonly name: string; readonly items: readonly { readonly key: string }[] };
    }[];
  };
}
interface MatchLabels {
  readonly matchLabels: Labels;
}
interface Rule {
  readonly ports?: readonly { readonly port: number }[];
}
interface Spec {
  readonly selector?: Labels | MatchLabels;
  readonly podSelector?: MatchLabels;
  readonly policyTypes?: readonly string[];
  readonly ingress?: readonly Rule[];
  readonly egress?: readonly Rule[];
  readonly scaleTargetRef?: { readonly name: string };
  readonly rules?: readonly {
    readonly http?: {
      readonly paths: readonly { readonly backend: { readonly service: { readonly name: string } } }[];
    };
    readonly backendRefs?: readonly { readonly name: string }[];
    readonly timeouts?: { readonly request: string };
  }[];
}

/** Returns the labels by which a manifest selects pods; a monitor selects services. */
function selectorOf(kind: string, { selector, podSelector }: Spec): Labels | undefined {
  if (kind === 'ServiceMonitor') return undefined;
  const found = selector ?? podSelector;
  return found && 'matchLabels' in found ? (found as MatchLabels).matchLabels : (found as Labels | undefined);
}

function portsOf(policies: readonly Manifest[], component: string, way: 'ingress' | 'egress'): number[] {
  const own = policies.filter((policy) => componentOf(policy) === component);
  return own.flatMap(({ spec }) =>
    ((spec as Spec)[way] ?? []).flatMap(({ ports = [] }) => ports.map(({ port }) => port)),
  );
}
