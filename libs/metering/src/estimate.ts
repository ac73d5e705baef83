import { requireCount } from './counts.js';
import type { TokenUsage } from './price.js';
import { tokensOfBytes, usualInputTokens } from './worst-case.js';
import type { BoundFigures, CallBounds } from './worst-case.js';

/**
 * Estimates the usage of a complete response without reported usage
 * (docs/behaviour.md#actual-cost): the text of the prompt, a typical size for each attachment, and
 * the delivered bytes of text divided by the model's bytes per token, at most the output bound. No
 * tokens count as cached. The estimate never costs more than the worst case of the same bounds.
 * @throws RangeError for an invalid count or a `bytesPerToken` below 0.001
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
