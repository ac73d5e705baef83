import { modelId, objectId, requestId } from '@gateway/contracts/messages';
import { aliasName, instant, pageQuery } from '@gateway/contracts/operator';
import { z } from 'zod';

export const byId = z.object({ id: objectId });
/** Both halves of a model's id, joined. */
export const byModelId = z.object({ modelId });
export const byAlias = z.object({ alias: aliasName });
export const byRequestId = z.object({ requestId });
export const byMember = z.object({ id: objectId, memberId: objectId });

/** Of flags in a query. */
export const flag = z.enum(['true', 'false']).default('false');

/** What the services take as a page. */
export function pageOfQuery({ cursor, limit }: z.output<typeof pageQuery>): { cursor: string | null; limit: number } {
  return { cursor: cursor ?? null, limit };
}

/** Epoch milliseconds of a time in a query; null: not stated. */
export function epochOf(text: string | undefined): number | null {
  return text === undefined ? null : Date.parse(text);
}

/**
 * What a validated body says of an object: without the fields that only its view has, and those
 * that travel by themselves.
 */
export function specOf<S extends z.ZodObject>(spec: S, body: z.output<S>): z.output<S> {
  return Object.fromEntries(Object.entries(body).filter(([field]) => Object.hasOwn(spec.shape, field))) as z.output<S>;
}

export { instant, modelId, objectId, pageQuery };
