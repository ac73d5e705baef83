// `npm run check:cluster [-- --keep]`: tests the chart on an existing cluster. Measures requests
// and streams while services are rolled, a node is drained and pods are killed, and writes
// .results/cluster.md. README.md lists the requirements; exit 3: a requirement is missing.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { here, missing, settings } from './settings.mjs';
import { apply, kubectl, kubectlQuietly, helm } from './kube.mjs';
import { loadPod, secretsOf, serversOf } from './manifests.mjs';
import { prepareGateway } from './prepare-gateway.mjs';
import { renderResults } from './results.mjs';

const RESULTS = fileURLToPath(new URL('../../../.results/cluster.md', import.meta.url));
const COMPONENTS = ['edge-proxy', 'admission', 'billing', 'catalog', 'accounts', 'dashboard', 'operator'];
const DRAINS = 3;
const REST_MS = 20_000;
const ROLLOUT = '--timeout=15m';

const absent = missing();
if (absent !== null) {
  console.log(`check:cluster was not run: ${absent}`);
  process.exit(3);
}
const { namespace, release, keep } = settings;
const steps = [];
const [first, second] = nodes();

try {
  const secrets = secretsOf();
  apply([...secrets.manifests, ...serversOf(first)]);
  for (const server of ['postgres', 'nats', 'redis', 'provider-simulator']) {
    kubectl('rollout', 'status', `deployment/${server}`, ROLLOUT);
  }
  helm(
    'upgrade',
    '--install',
    release,
    here('../model-gateway'),
    '--values',
    here('values.yaml'),
    ...settings.image,
    '--wait',
    ROLLOUT,
  );
  const key = await prepareGateway(secrets.operatorToken);
  apply(loadPod(first, key));
  kubectl('wait', 'pod/load', '--for=condition=Ready', '--timeout=3m');

  await step('at rest', () => undefined);
  await step('all services rolled', rollAll);
  for (let round = 1; round <= DRAINS && second !== undefined; round += 1) {
    await step(`node drained (${round})`, () => drain(second));
    await step(`node back, services rolled (${round})`, () => {
      kubectl('uncordon', second);
      rollAll();
    });
  }
  for (const component of COMPONENTS) await step(`a pod of ${component} killed`, () => killOne(component));

  // Leaves out lines of Node itself.
  const said = kubectlQuietly('logs', 'load')
    .split('\n')
    .filter((line) => line.startsWith('{'));
  const lines = said.map((line) => JSON.parse(line));
  const version = JSON.parse(kubectlQuietly('version', '--output=json')).serverVersion.gitVersion;
  const text = renderResults({ steps, lines, version, nodes: second === undefined ? 1 : 2 });
  writeFileSync(RESULTS, text);
  console.log(text);
} finally {
  if (second !== undefined) kubectl('uncordon', second);
  if (!keep) kubectl('delete', 'namespace', namespace, '--wait=false');
}

/** The first node runs servers and load; the second is drained, if there is one. */
function nodes() {
  return kubectlQuietly('get', 'nodes', '--output=jsonpath={.items[*].metadata.name}').split(' ');
}

async function step(name, act) {
  console.log(`== ${name}`);
  const from = Date.now();
  await act();
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  steps.push({ name, from, to: Date.now() });
}

function deployments() {
  const labels = `--selector=app.kubernetes.io/instance=${release}`;
  return kubectlQuietly('get', 'deployments', labels, '--output=name').trim().split('\n');
}

function settled() {
  for (const deployment of deployments()) kubectl('rollout', 'status', deployment, ROLLOUT);
}

function rollAll() {
  kubectl('rollout', 'restart', ...deployments());
  settled();
}

function drain(node) {
  kubectl('drain', node, '--ignore-daemonsets', '--delete-emptydir-data', ROLLOUT);
  settled();
}

/** Kills a pod without a grace period, like a lost process. */
function killOne(component) {
  const labels = `--selector=app.kubernetes.io/instance=${release},app.kubernetes.io/component=${component}`;
  const [pod] = kubectlQuietly('get', 'pods', labels, '--output=name').trim().split('\n');
  kubectl('delete', pod, '--force', '--grace-period=0');
  settled();
}
