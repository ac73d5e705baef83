import { z } from 'zod';

/** Largest amount, balance or held sum in a message: exact in a double, which Lua in Redis uses. */
export const WIRE_NANO_USD_MAX = 9_000_000_000_000_000;

/** An amount in nano-USD (1e-9 USD) as a JSON integer; code turns it into a bigint. */
export const nanoUsd = z.int().min(-WIRE_NANO_USD_MAX).max(WIRE_NANO_USD_MAX);
/** A non-negative amount. */
export const nanoUsdPositive = z.int().min(0).max(WIRE_NANO_USD_MAX);
/** Epoch milliseconds UTC. */
export const epochMs = z.int().min(0).max(8.64e15);
export const count = z.int().min(0);

/** A UUID of version 7, in lower case. */
export const UUID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
/** The gateway's ID of a client request: also lease ID, idempotency key and ledger key. */
export const requestId = z.string().regex(UUID_PATTERN);
/** ID of a command that must be executed once: a UUIDv7. */
export const commandId = z.string().regex(UUID_PATTERN);
/** Identity of the ledger: a UUIDv7, later than those before it (docs/protocol.md#r17). */
export const ledgerEpoch = z.string().regex(UUID_PATTERN);
/** ID of an account, key, member, user, provider, source or plan: one plain token. */
export const objectId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/);
const PUBLISHER = '[A-Za-z0-9][A-Za-z0-9_.-]{0,63}';
const MODEL_NAME = '[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,127}';
export const PUBLISHER_PATTERN = `^${PUBLISHER}$`;
export const MODEL_NAME_PATTERN = `^${MODEL_NAME}$`;
/** `<publisher>/<model>`. */
export const modelId = z.string().regex(new RegExp(`^${PUBLISHER}[/]${MODEL_NAME}$`));
/** HMAC-SHA-256 of a secret in hexadecimal. */
export const digest = z.string().regex(/^[0-9a-f]{64}$/);
/** Digests of one secret: under the current pepper, then under the previous one if it exists. */
export const digests = z.array(digest).min(1).max(2);
export const bucket = z.int().min(0).max(255);
/** Epoch of a bucket in Redis: run ID and random characters. */
export const bucketEpoch = z.string().min(1).max(128);
export const month = z.string().regex(/^[0-9]{4}-(0[1-9]|1[0-2])$/);
export const traceparent = z.string().max(64).optional();

/** The model-calling endpoints, named by their paths. */
export const ENDPOINTS = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/embeddings',
  '/v1/responses',
] as const;
export const endpoint = z.enum(ENDPOINTS);
export type Endpoint = z.infer<typeof endpoint>;

/**
 * The tokens that a provider's `total_tokens` counts beyond input and output. `output` and `input`:
 * all of them are output or input. `reasoning`: they are output up to the reasoning that the
 * response reports, and the others are not charged.
 */
export const TOTAL_EXTRAS = ['reasoning', 'output', 'input'] as const;
