import { expect, test } from '@jest/globals';
import { renderLitellmConfig } from './start-peers.js';
import { PROVIDER_MODELS } from '../edge/scenarios.js';

test('lists each model of the provider once', () => {
  const names = [...renderLitellmConfig('http://127.0.0.1:1').matchAll(/model_name: (\S+)/g)].map(([, name]) => name);
  expect([...names].sort()).toEqual([...new Set(Object.values(PROVIDER_MODELS))].sort());
});
