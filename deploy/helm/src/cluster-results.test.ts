import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { Ajv } from 'ajv';
import { renderResults, tally, type Line } from '../cluster/results.mjs';
import { HELM, type Manifest } from '../test/goldens.js';
import { schemaProblems } from '../test/kubernetes-schema.js';

const call = (at: number, ms: number, problem: string | null = null): Line => ({
  kind: 'call',
  at,
  ms,
  status: problem === null ? 200 : 500,
  problem,
});
const lines: Line[] = [
  call(900, 50),
  call(1_000, 20),
  call(1_500, 700, 'admission_error'),
  call(1_999, 30),
  call(2_000, 90, 'ECONNREFUSED'),
  { kind: 'stream', at: 500, ms: 600, status: 200, problem: 'cut' },
  { kind: 'stream', at: 1_200, ms: 700, status: 200, problem: null },
  { kind: 'stream', at: 1_900, ms: 30_000, status: 200, problem: 'cut' },
];

test('a request counts where it began and a stream where it ended', () => {
  expect(tally({ name: 'drained', from: 1_000, to: 2_000 }, lines)).toEqual({
    calls: 3,
    refused: 1,
    slowestMs: 700,
    streams: 2,
    cut: 1,
    problems: new Map([
      ['admission_error', 1],
      ['cut', 1],
    ]),
  });
});

test('the table has each step with its refused requests, cut streams and causes', () => {
  const steps = [
    { name: 'drained', from: 1_000, to: 2_000 },
    { name: 'killed', from: 2_000, to: 3_000 },
  ];
  const text = renderResults({ steps, lines, version: 'v1.34.4', nodes: 2 });
  expect(text).toContain('| drained | 1 s | 3 | 1 | 700 ms | 2 | 1 | admission_error 1, cut 1 |');
  expect(text).toContain('| killed | 1 s | 1 | 1 | 90 ms | 0 | 0 | ECONNREFUSED 1 |');
});

test("the check's servers are valid Kubernetes objects, its values match the schema", () => {
  const documents = parseAllDocuments(readFileSync(`${HELM}cluster/servers.yaml`, 'utf8'));
  const servers = documents.map((document) => document.toJS() as Manifest).filter(({ kind }) => kind !== 'ConfigMap');
  expect(servers.length).toBeGreaterThan(6);
  expect(servers.flatMap((manifest) => schemaProblems(manifest))).toEqual([]);
  const schema = JSON.parse(readFileSync(`${HELM}model-gateway/values.schema.json`, 'utf8')) as object;
  const accepts = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(schema);
  accepts(parse(readFileSync(`${HELM}cluster/values.yaml`, 'utf8')));
  expect(accepts.errors ?? []).toEqual([]);
});
