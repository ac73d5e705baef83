import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { context, ROOT_CONTEXT, trace, TraceFlags, type Context, type ContextManager } from '@opentelemetry/api';
import { AsyncLocalStorage } from 'node:async_hooks';
import { eventually, faultCode, startBusWorld, TEST_TIMEOUT_MS, type BusWorld } from '../test/bus-world.js';
import { echo } from '../test/messages.js';
import type { Bus } from './index.js';

jest.setTimeout(TEST_TIMEOUT_MS);

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';

class Contexts implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();
  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }
  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    active: Context,
    call: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#storage.run(active, () => call.apply(self, args));
  }
  bind<T>(_active: Context, target: T): T {
    return target;
  }
  enable(): this {
    return this;
  }
  disable(): this {
    return this;
  }
}

let world: BusWorld;
let edge: Bus;
const heard: (string | undefined)[] = [];

beforeAll(async () => {
  context.setGlobalContextManager(new Contexts());
  world = await startBusWorld();
  const [asker, admission] = await Promise.all([world.connect('edge-proxy'), world.connect('admission')]);
  edge = asker;
  admission.serve(echo, async ({ text }, { traceparent }) => {
    heard.push(traceparent);
    return { text, replica: '' };
  });
  await eventually('served', async () => (await faultCode(edge.request(echo, { text: '' }))) === 'no fault');
});
afterAll(async () => {
  await world.stop();
  context.disable();
});

test.each([
  ['outside of a span', undefined, undefined],
  ['inside a span that is not sampled', TraceFlags.NONE, undefined],
  ['inside a sampled span', TraceFlags.SAMPLED, `00-${TRACE}-${SPAN}-01`],
])('the trace context travels: %s', async (_name, traceFlags, expected) => {
  const active =
    traceFlags === undefined
      ? ROOT_CONTEXT
      : trace.setSpanContext(ROOT_CONTEXT, { traceId: TRACE, spanId: SPAN, traceFlags });
  heard.length = 0;
  await context.with(active, () => edge.request(echo, { text: 'a' }));
  expect(heard).toEqual([expected]);
});
