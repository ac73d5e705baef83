import type { TokenUsage } from '@gateway/metering';
import { histogram } from '@gateway/service-kit';
import type { EndpointSpec } from '../formats/endpoints.js';
import type { CallEnd } from '../pricing/charge.js';

/** Names, labels and buckets follow the semantic conventions for generative AI. */
const TOKENS = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];
const DURATION_S = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36,
];
const FIRST_TOKEN_S = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60];

/** A complete response has an empty label, which Prometheus treats as absent. */
const ERROR_TYPES = {
  complete: '',
  cut: 'cut',
  failed: 'failed',
  client_left: 'client_left',
} as const satisfies Record<CallEnd, string>;

/** Metrics of model usage. Models and providers are not labels: both grow with the catalog. */
export interface ModelMetrics {
  /** An admitted call has ended. `seconds`: since its arrival. `usage` null: not reported. */
  operationEnded(row: EndpointSpec, ended: CallEnd, seconds: number, usage: TokenUsage | null): void;
  /** The first generated text of a stream has arrived, `seconds` after the call. */
  firstToken(row: EndpointSpec, seconds: number): void;
}

export function makeModelMetrics(): ModelMetrics {
  const operation = { gen_ai_operation_name: OPERATIONS } as const;
  const tokens = histogram('gen_ai_client_token_usage', 'Tokens of a call as its provider counted them', TOKENS, {
    ...operation,
    gen_ai_token_type: ['input', 'output'],
  });
  const durations = histogram(
    'gen_ai_client_operation_duration_seconds',
    'Time from the arrival of an admitted call to the end of its response',
    DURATION_S,
    { ...operation, error_type: Object.values(ERROR_TYPES) },
  );
  const firstTokens = histogram(
    'gen_ai_server_time_to_first_token_seconds',
    'Time from the arrival of a streamed call to its first generated text',
    FIRST_TOKEN_S,
    operation,
  );
  return {
    operationEnded(row, ended, seconds, usage) {
      const gen_ai_operation_name = toOperationName(row);
      durations.of({ gen_ai_operation_name, error_type: ERROR_TYPES[ended] }).observe(seconds);
      if (usage === null) return;
      tokens.of({ gen_ai_operation_name, gen_ai_token_type: 'input' }).observe(usage.input);
      tokens.of({ gen_ai_operation_name, gen_ai_token_type: 'output' }).observe(usage.output);
    },
    firstToken: (row, seconds) => firstTokens.of({ gen_ai_operation_name: toOperationName(row) }).observe(seconds),
  };
}

/**
 * Operation names of the semantic conventions for generative AI. The conventions have no name for
 * token counting.
 */
export const OPERATIONS = ['chat', 'text_completion', 'embeddings', 'count_tokens'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Returns the operation name of an endpoint. */
export function toOperationName({ kind, format }: Pick<EndpointSpec, 'kind' | 'format'>): Operation {
  if (kind === 'embedding') return 'embeddings';
  if (format === 'token_count') return 'count_tokens';
  return format === 'completion' ? 'text_completion' : 'chat';
}
