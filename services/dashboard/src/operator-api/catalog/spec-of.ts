import type { z } from 'zod';

/** What a validated body says of an object: without the fields that only its view has, and those that travel by themselves. */
export function specOf<S extends z.ZodObject>(spec: S, body: z.output<S>): z.output<S> {
  return Object.fromEntries(Object.entries(body).filter(([field]) => Object.hasOwn(spec.shape, field))) as z.output<S>;
}
