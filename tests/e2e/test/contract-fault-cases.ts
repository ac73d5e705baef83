import { expect } from '@jest/globals';
import type { LocalSystem, ProcessName } from '@gateway/local';
import { until } from '@gateway/testkit';
import { CHAT, MESSAGES, expectError, jsonOf, modelCall, send, styleOf } from './contract-call.js';
import type { TestOperator } from './operator.js';

/** The upstream deadline of this system, shortened from the documented 600 s. */
export const DEADLINE_MS = 1_500;

export interface FaultWorld {
  readonly local: LocalSystem;
  readonly operator: TestOperator;
  /** A model with a source that does not respond. */
  readonly hanging: string;
  readonly model: string;
  readonly secret: string;
  /** Not used before, so no process has cached it. */
  readonly freshSecret: string;
}

/**
 * A test that breaks the system, and the rows of the specification that it covers. The cases run in
 * this order.
 */
export interface FaultCase {
  readonly title: string;
  readonly covers: readonly string[];
  run(world: FaultWorld): Promise<void>;
}

const STOP_MS = 10_000;
const RETRY_500 = 'errors: Yes, with exponential backoff: all 500s';
const internal = { type: 'server_error', messagesType: 'api_error' };
const late = { status: 504, code: 'upstream_timeout', type: 'api_error', messagesType: 'timeout_error' };

export const FAULT_CASES: readonly FaultCase[] = [
  {
    title: '504 upstream_timeout: no response within the upstream deadline',
    covers: ['errors: 504 upstream_timeout', 'limits: rule 6 upstream response timeout 600'],
    async run({ local, hanging, secret }) {
      await Promise.all(
        [CHAT, MESSAGES].flatMap((path) =>
          [false, true].map(async (stream) => {
            const began = performance.now();
            const answer = await send(local.running().edgeUrl, modelCall(path, secret, hanging, { stream }));
            expectError(answer, styleOf(path), late);
            expect(performance.now() - began).toBeGreaterThanOrEqual(DEADLINE_MS - 50);
          }),
        ),
      );
    },
  },
  {
    title: '500 lookup_failed: the key cannot be looked up',
    covers: ['errors: 500 lookup_failed', RETRY_500],
    async run({ local, model, freshSecret }) {
      await stopped(local, 'accounts', async () => {
        for (const path of [CHAT, MESSAGES]) {
          const answer = await send(local.running().edgeUrl, modelCall(path, freshSecret, model));
          expectError(answer, styleOf(path), { ...internal, status: 500, code: 'lookup_failed' });
        }
        const list = await send(local.running().edgeUrl, { path: '/v1/models', secret: freshSecret });
        expectError(list, 'chat', { ...internal, status: 500, code: 'lookup_failed' });
      });
      await until(
        'the key is looked up again',
        async () => (await send(local.running().edgeUrl, modelCall(CHAT, freshSecret, model))).status === 200,
      );
    },
  },
  {
    title: '500 admission_error and usage_unavailable: admission is stopped',
    covers: ['errors: 500 admission_error', 'errors: 500 usage_unavailable', RETRY_500],
    async run({ local, model, secret }) {
      await stopped(local, 'admission', async () => {
        for (const path of [CHAT, MESSAGES]) {
          const answer = await send(local.running().edgeUrl, modelCall(path, secret, model));
          expectError(answer, styleOf(path), { ...internal, status: 500, code: 'admission_error' });
        }
        const usage = await send(local.running().edgeUrl, { path: '/v1/gateway/usage', secret });
        expectError(usage, 'chat', { ...internal, status: 500, code: 'usage_unavailable' });
      });
      await until(
        'calls are answered again',
        async () => (await send(local.running().edgeUrl, modelCall(CHAT, secret, model))).status === 200,
        20_000,
      );
    },
  },
  {
    title: '500 catalog_error: the edge has not received a catalog',
    covers: ['errors: 500 catalog_error', RETRY_500],
    async run({ local, secret, model }) {
      const url = local.running().edgeUrl;
      const [catalog] = local.children('catalog');
      await catalog?.stop(STOP_MS);
      await local.servers.nats.restart?.({ kill: true, emptyState: true });
      const [edge] = local.children('edge-proxy');
      const pid = edge?.pid;
      edge?.kill('SIGKILL');
      const code = await until(
        'the edge listens again',
        async () => {
          if (edge?.pid == null || edge.pid === pid) return undefined;
          const answer = await send(url, { path: '/v1/models', secret }).catch(() => undefined);
          return answer && `${answer.status} ${(jsonOf(answer)['error'] as { code: string } | undefined)?.code}`;
        },
        20_000,
      );
      expect(code).toBe('500 catalog_error');
      await catalog?.start();
      await until(
        'calls are answered again',
        async () => (await send(url, modelCall(CHAT, secret, model)).catch(() => undefined))?.status === 200,
        30_000,
      );
    },
  },
];

/** Runs `work` while all processes of a name are stopped. */
async function stopped(local: LocalSystem, name: ProcessName, work: () => Promise<void>): Promise<void> {
  const children = local.children(name);
  await Promise.all(children.map((child) => child.stop(STOP_MS)));
  await work();
  await Promise.all(children.map((child) => child.start()));
}
