import { modelId, objectId, requestId } from '@gateway/contracts/messages';
import { aliasName, instant, pageQuery } from '@gateway/contracts/operator';
import { z } from 'zod';

export const byId = z.object({ id: objectId });
/** Both halves of a model ID, joined. */
export const byModelId = z.object({ modelId });
export const byAlias = z.object({ alias: aliasName });
export const byRequestId = z.object({ requestId });
export const byMember = z.object({ id: objectId, memberId: objectId });

/** A flag in a query. */
export const flag = z.enum(['true', 'false']).default('false');

/** Converts a page query to the form of the services. */
export function toPage({ cursor, limit }: z.output<typeof pageQuery>): { cursor: string | null; limit: number } {
  return { cursor: cursor ?? null, limit };
}

/** Converts a time in a query to epoch milliseconds; null if absent. */
export function toEpochMs(text: string | undefined): number | null {
  return text === undefined ? null : Date.parse(text);
}

/**
 * Returns the fields of a validated body that belong to the object's spec. Drops fields that only
 * its view has, and fields that are sent separately.
 */
export function toSpec<S extends z.ZodObject>(spec: S, body: z.output<S>): z.output<S> {
  return Object.fromEntries(Object.entries(body).filter(([field]) => Object.hasOwn(spec.shape, field))) as z.output<S>;
}

export { instant, modelId, objectId, pageQuery };
