import { expect, test } from '@jest/globals';
import { sharedSystem } from '../../test/system.js';
import { FAILOVER_FORMATS } from './formats.js';
import { judgePlay } from './judge-play.js';
import { playScenarios } from './play-scenarios.js';
import { playsOf } from './scenario.js';
import { SCENARIOS } from './scenarios.js';

const RUN_MS_MAX = 180_000;

// Covers i3; i4; i5
test(
  'each scenario of docs/failover.md has the expected response, sources and charge',
  async () => {
    const { edgeUrls, operator } = sharedSystem();
    const plays = playsOf(SCENARIOS, FAILOVER_FORMATS);
    const seen = await playScenarios({ edgeUrl: edgeUrls[0] ?? '', operator }, plays);
    expect(plays.length).toBeGreaterThan(FAILOVER_FORMATS.length * SCENARIOS.length);
    expect(seen).toHaveLength(plays.length);
    expect(seen.flatMap(judgePlay)).toEqual([]);
  },
  RUN_MS_MAX,
);
