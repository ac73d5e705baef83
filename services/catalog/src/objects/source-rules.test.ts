import { expect, test } from '@jest/globals';
import { sourceSpec as sourceSchema, type SourceSpec } from '@gateway/contracts/operator';
import { PLACE, PROVIDER, sourceSpec } from '../../test/specs.js';
import { entriesOf } from '../publishing/entry-rules.js';
import { sourceOf } from './spec-rules.js';
import type { Source } from './rules.js';

type Betas = NonNullable<SourceSpec['betas']>;

function source(betas?: Betas): Source {
  const made = sourceOf('s', sourceSchema.parse(sourceSpec(betas === undefined ? {} : { betas })), PLACE);
  if ('refused' in made) throw new Error(made.refused.message);
  return made;
}

/** Returns the betas in the published entry of the source. */
function published(format: 'openai' | 'anthropic', betas?: Betas): unknown {
  const providers = [{ ...PROVIDER, format }];
  const none = new Map();
  const snapshot = {
    revision: 1,
    nowMs: 0,
    providers,
    models: [],
    aliases: [],
    sources: [source(betas)],
    prices: none,
    costs: none,
  };
  const { betas: told, betasRefused } = JSON.parse(entriesOf(snapshot).get('source.s') ?? '{}') as Record<
    string,
    unknown
  >;
  return [told, betasRefused];
}

test.each<['openai' | 'anthropic', Betas | undefined, unknown, unknown]>([
  ['anthropic', undefined, 'pass', ['fast-mode-']],
  ['anthropic', 'standard', 'pass', ['fast-mode-']],
  ['anthropic', 'pass', 'pass', undefined],
  ['anthropic', [], [], undefined],
  ['anthropic', ['fast-mode-2026-02-01'], ['fast-mode-2026-02-01'], undefined],
  ['openai', undefined, [], undefined],
  ['openai', 'standard', 'pass', ['fast-mode-']],
])('a source of format %s with betas %j passes %j and refuses %j', (format, betas, told, refused) => {
  expect(published(format, betas)).toEqual([told, refused]);
});
