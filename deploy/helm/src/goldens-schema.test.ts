import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { Ajv } from 'ajv';
import { findHelm, render, valueSets } from '../render.mjs';
import { HELM, VALUE_SETS, readGolden, readValues, type Manifest } from '../test/goldens.js';
import { schemaProblems } from '../test/kubernetes-schema.js';

const schema = JSON.parse(readFileSync(`${HELM}model-gateway/values.schema.json`, 'utf8')) as object;
const acceptsValues = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(schema);

const helm = findHelm();
(helm === null ? test.skip : test)(
  'the goldens are what Helm renders, and refused values are refused (needs helm)',
  () => {
    for (const file of valueSets('values')) {
      expect([file, render(helm ?? '', `values/${file}`).text]).toEqual([
        file,
        readFileSync(`${HELM}goldens/${file}`, 'utf8'),
      ]);
    }
    for (const file of valueSets('refused')) {
      // The first line of the file is the expected error.
      const wanted = readFileSync(`${HELM}refused/${file}`, 'utf8').split('\n')[0]?.replace('# ', '') ?? '';
      expect([file, render(helm ?? '', `refused/${file}`).problem]).toEqual([file, expect.stringContaining(wanted)]);
    }
  },
);

test.each(VALUE_SETS)('%s: every field is a valid Kubernetes field', (name) => {
  const manifests = readGolden(name);
  expect(manifests.length).toBeGreaterThan(10);
  expect(
    manifests.flatMap((manifest) => schemaProblems(manifest).map((text) => `${manifest.metadata.name}: ${text}`)),
  ).toEqual([]);
});

test('wrong types and missing, misspelt or misplaced fields are found', () => {
  const deployment = readGolden('evaluation').find(({ kind }) => kind === 'Deployment') as Manifest;
  const changed = (change: (spec: DeploymentSpec) => void): string[] => {
    const copy = structuredClone(deployment) as Manifest & { spec: DeploymentSpec };
    change(copy.spec);
    return schemaProblems(copy);
  };
  expect(schemaProblems(deployment)).toEqual([]);
  expect(changed((spec) => (spec.replicas = 'two'))).toHaveLength(1);
  expect(changed((spec) => delete spec.selector)).toHaveLength(1);
  expect(changed((spec) => (spec.replica = 2))).toEqual(['/spec/replica is not a field of apps/v1 Deployment']);
  expect(changed(({ template }) => (template.spec.replicas = 2))).toEqual([
    '/spec/template/spec/replicas is not a field of apps/v1 Deployment',
  ]);
  expect(changed(({ template }) => (template.spec.containers[0].readinessProbe.httpget = {}))).toHaveLength(1);
});

interface DeploymentSpec {
  replicas?: unknown;
  replica?: unknown;
  selector?: unknown;
  template: { spec: { replicas?: unknown; containers: [{ readinessProbe: Record<string, unknown> }] } };
}

test.each(['model-gateway/values.yaml', ...VALUE_SETS.map((name) => `values/${name}.yaml`)])(
  '%s matches the schema of values',
  (file) => {
    acceptsValues(readValues(file));
    expect(acceptsValues.errors ?? []).toEqual([]);
  },
);

test.each([
  [{ replicas: 2 }, 'an unknown field'],
  [{ edgeProxy: { drainSeconds: 60 } }, 'a drain that would cut calls'],
  [{ image: { tag: 'latest' } }, 'a moving tag'],
  [{ publicUrl: 'gateway.example.com' }, 'an address without a scheme'],
  [{ dashboard: { proxies: '1' } }, 'a number of proxies as text'],
  [{ jobs: { backup: { keep: 0 } } }, 'no kept backup'],
  [{ streamReplicas: 2 }, 'a number of copies that no cluster has a majority of'],
  [{ admission: { environment: { gateway_log_level: 'info' } } }, 'a variable that nothing reads'],
] as readonly (readonly [object, string])[])('%j is refused: %s', (values) => {
  expect(acceptsValues(values)).toBe(false);
});

test("the schema has each of the chart's own values", () => {
  const unknown = (value: unknown, known: Schema | undefined, path: string): string[] => {
    if (known?.properties === undefined || typeof value !== 'object' || value === null) return known ? [] : [path];
    return Object.entries(value).flatMap(([key, item]) => unknown(item, known.properties?.[key], `${path}.${key}`));
  };
  expect(unknown(readValues('model-gateway/values.yaml'), schema as Schema, '')).toEqual([]);
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}

test.each(['argo-cd', 'flux'])('examples/%s.yaml: each Job has only valid Kubernetes fields', (name) => {
  const jobs = readGolden(`../examples/${name}`).filter(({ kind }) => kind === 'Job');
  expect(jobs.map(schemaProblems)).toEqual([[]]);
});
