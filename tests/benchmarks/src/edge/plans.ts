import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { execFileSync } from 'node:child_process';
import { type BenchContext, DIRECTORIES } from '../context.js';
import { buildCommit } from '../gateway/hosted-gateway.js';
import type { BenchOptions } from '../options.js';
import type { EdgePlan } from './run-edge.js';
import { FULL_LOAD, STREAMS } from './scenarios.js';
import type { GatewaySpec } from './start-all.js';
import type { Comparison } from './tables.js';

const NODE_VERSION_TIMEOUT_MS = 5_000;
/** Shares of traced requests. The first one is the baseline. */
const TRACE_RATIOS = [0, 0.01, 1];

/** Plans the comparison with the peers, and with another commit and another Node if given. */
export async function planEdge(options: BenchOptions, context: BenchContext): Promise<EdgePlan> {
  const { against, node, peers, scenarios } = options;
  const gateways: GatewaySpec[] = [];
  const comparisons: Comparison[] = [];
  if (peers.includes('gateway')) gateways.push({ id: 'gateway', title: 'this gateway, everything on' });
  if (against !== null) {
    const { commit, directory } = await buildCommit(against, context);
    gateways.push({ id: 'against', title: `the gateway at ${commit}`, host: { directory } });
    comparisons.push({ title: `This build ÷ ${commit}`, ours: 'gateway', theirs: 'against' });
  }
  if (node !== null) {
    const version = execFileSync(node, ['--version'], { encoding: 'utf8', timeout: NODE_VERSION_TIMEOUT_MS }).trim();
    const host = { directory: DIRECTORIES.checkout, execPath: node };
    gateways.push({ id: 'node', title: `this gateway on Node ${version}`, host });
    comparisons.push({ title: `Node ${version} ÷ ${process.version}`, ours: 'node', theirs: 'gateway' });
  }
  for (const theirs of ['portkey', 'litellm', 'relay', 'nginx'])
    comparisons.push({
      title: `This gateway ÷ ${theirs}. Rows of the edge: ÷ all of ${theirs}`,
      ours: 'gateway',
      theirs,
    });
  return { title: 'Benchmark: this gateway and its peers', peers, gateways, scenarios, comparisons };
}

/** Plans the comparison of gateways that differ only in the share of traced requests. */
export async function planTelemetry({ ending }: BenchContext): Promise<EdgePlan> {
  // A collector that accepts every span.
  const collector = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  ending.add('the collector', () => collector.closeAllConnections());
  ending.add('the collector', () => void collector.close());
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const gateways = TRACE_RATIOS.map((ratio) => ({
    id: `${ratio * 100} %`,
    title: `${ratio * 100} % of the requests traced`,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, GATEWAY_TRACE_RATIO: String(ratio) },
  }));
  const [baseline, ...traced] = gateways;
  const comparisons = traced.map(({ id, title }) => ({
    title: `${title} ÷ none`,
    ours: id,
    theirs: baseline?.id ?? '',
  }));
  return { title: 'Cost of tracing', peers: ['direct'], gateways, scenarios: [FULL_LOAD, STREAMS], comparisons };
}
