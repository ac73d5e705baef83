import { requireCount } from './counts.js';
import type { TokenUsage } from './price.js';
import { tokensOfBytes, usualInputTokens } from './worst-case.js';
import type { BoundFigures, CallBounds } from './worst-case.js';

/**
 * Usage of a complete answer whose provider reported none (docs/behaviour.md#actual-cost): the
 * text of the prompt, with a usual size of each attachment, and the delivered bytes of text at the
 * model's bytes per token, at most the output bound. Nothing counts as cached. Rated, it is never
 * above the worst case of the same bounds.
 * @throws RangeError for a broken count or a `bytesPerToken` below 0.001
 */
export function estimateUsage(bounds: CallBounds, figures: BoundFigures, deliveredOutputBytes: number): TokenUsage {
  const deliveredTokens = tokensOfBytes(
    requireCount(deliveredOutputBytes, 'deliveredOutputBytes'),
    figures.bytesPerToken,
  );
  return {
    input: usualInputTokens(bounds, figures),
    cachedInput: 0,
    cacheWrite: 0,
    cacheWrite1h: 0,
    output: Math.min(deliveredTokens, requireCount(bounds.outputTokensMax, 'outputTokensMax')),
  };
}
