import { requestId } from '@gateway/contracts/messages';
import * as contracts from '@gateway/contracts/operator';
import { z } from 'zod';

/** The body of an error response. */
export const operatorError = z.object({
  error: z.object({
    code: z.enum(Object.keys(contracts.OPERATOR_ERRORS)),
    message: z.string(),
    /** The field, parameter or header that caused the error. */
    param: z.string().nullable(),
    /** Also in the header `x-gateway-request-id` and in the log. */
    request_id: z.string(),
  }),
});

interface SchemaText {
  readonly description?: string;
  readonly examples?: readonly unknown[];
}

/** Descriptions and examples that the OpenAPI document adds to the schemas. */
export const SCHEMA_TEXTS = z.registry<SchemaText>();
/** The schemas that the document defines once, by name. */
export const NAMED_SCHEMAS: Record<string, z.ZodType> = { OperatorError: operatorError };

const { email, instant, label, modelId, month, objectId, time, usdCap, usdMoved, usdPositive } = contracts.scalars;
for (const [name, schema, text] of [
  ['ObjectId', objectId, { examples: ['acme-1'] }],
  ['ModelId', modelId, { examples: ['acme/large-1'] }],
  ['RequestId', requestId, { examples: ['019a9c3e-7d40-7b6a-8c52-3f1d2a9b4e10'] }],
  ['Cursor', contracts.cursor, { description: '`next_cursor` of the previous page.' }],
  ['Email', email, { examples: ['ada@example.com'] }],
  ['Instant', instant, { description: 'RFC 3339 UTC, from 1970 on.', examples: ['2026-01-31T12:00:00Z'] }],
  ['Label', label, {}],
  ['Month', month, { description: 'A calendar month in UTC.', examples: ['2026-01'] }],
  ['Time', time, {}],
  ['UsdCap', usdCap, { description: 'USD, above zero. Omit it for no cap.', examples: ['250'] }],
  ['UsdMoved', usdMoved, { description: 'USD, not zero. A negative amount is taken out.', examples: ['12.50'] }],
  ['UsdPositive', usdPositive, { description: 'USD.', examples: ['0.25'] }],
] as const) {
  NAMED_SCHEMAS[name] = schema;
  SCHEMA_TEXTS.add(schema, text);
}

/** Examples of request bodies by schema name, with the required fields and some common ones. */
const BODIES: Partial<Record<keyof typeof contracts, object>> = {
  accountCreate: { name: 'Ada Lovelace', email: 'ada@example.com', emailVerified: true },
  keyCreate: { name: 'production', monthlySpendCapUsd: '250' },
  memberCreate: { email: 'grace@example.com', role: 'member' },
  memberPut: { email: 'grace@example.com', role: 'admin', monthlySpendCapUsd: '100' },
  limitsSpec: { requestsPerMinute: 600, concurrency: 20 },
  operatorCreate: { name: 'ada', role: 'readonly' },
  subscriptionSpec: {
    planId: 'team-monthly',
    periodStart: '2026-01-01T00:00:00Z',
    periodEnd: '2026-02-01T00:00:00Z',
    renews: true,
  },
  walletEntryCreate: { amountUsd: '12.50', kind: 'credit', reason: 'paid by invoice', reference: 'invoice-2026-0042' },
  webhookSpec: { url: 'https://example.com/gateway-events' },
  providerPut: { name: 'Acme', format: 'openai' },
  modelPut: { displayName: 'Large 1', kind: 'chat', prices: { inputPerMillion: '3', outputPerMillion: '15' } },
  aliasPut: { modelId: 'acme/large-1' },
  priceProposalPut: {
    lists: ['litellm of 2026-01-31'],
    changes: [
      {
        kind: 'source',
        objectId: 'acme-eu',
        modelId: 'acme/large-1',
        before: { inputPerMillion: '2', outputPerMillion: '10' },
        after: { inputPerMillion: '2.50', outputPerMillion: '12.50' },
      },
    ],
    reported: [],
  },
  sourcePut: {
    modelId: 'acme/large-1',
    providerId: 'acme',
    baseUrl: 'https://api.example.com',
    upstreamModel: 'large-1',
    endpoints: ['/v1/chat/completions'],
    credential: { fromEnv: 'ACME_API_KEY' },
  },
  planPut: {
    name: 'Team',
    tier: 'team',
    models: null,
    windows: [{ type: 'session_5h', unit: 'usd', limit: '20' }],
  },
};

for (const [name, schema] of Object.entries(contracts)) {
  if (!(schema instanceof z.ZodObject)) continue;
  NAMED_SCHEMAS[`${name.charAt(0).toUpperCase()}${name.slice(1)}`] = schema;
  const example = BODIES[name as keyof typeof contracts];
  if (example !== undefined) SCHEMA_TEXTS.add(schema, { examples: [example] });
}
