import { z } from 'zod';
import { CredentialError } from '../ports.js';

const part = z.string().min(1);

/** Fixed AWS keys. */
export const awsKeys = z.object({ accessKeyId: part, secretAccessKey: part, sessionToken: part.optional() });
export type AwsKeys = z.infer<typeof awsKeys>;

/** An application of Entra ID with its secret. */
export const entraApplication = z.object({
  tenantId: part,
  clientId: part,
  clientSecret: part,
  /** Host that issues the tokens. Default: the public cloud's. */
  authorityHost: z.url().optional(),
});

/** A downloaded Google credential file. Its other members are passed to Google's library. */
export const googleFile = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('service_account'),
    client_email: part,
    private_key: part,
    token_uri: z.url().optional(),
  }),
  z.looseObject({
    type: z.literal('external_account'),
    audience: part,
    subject_token_type: part,
    token_url: z.url(),
    credential_source: z.looseObject({}),
  }),
]);
export type GoogleFile = z.infer<typeof googleFile>;

/**
 * Parses a decrypted credential.
 * @throws CredentialError that names missing or malformed members, never a value
 */
export function readCredential<T>(schema: z.ZodType<T>, kind: string, text: string): T {
  const parsed = schema.safeParse(parseJson(kind, text));
  if (parsed.success) return parsed.data;
  const names = [...new Set(parsed.error.issues.map(({ path }) => path.join('.') || 'the whole object'))];
  throw new CredentialError(`the ${kind} credential is unusable: ${names.join(', ')} missing or malformed`);
}

/** Parses JSON without the parser's own message, which would quote the text. */
function parseJson(kind: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CredentialError(`the ${kind} credential is unusable: it is not JSON`);
  }
}

/**
 * Returns the code or the name of a failure, which is safe to log. Messages of libraries may quote
 * data that they sent or received.
 */
export function findFailureCode(failure: unknown): string {
  // Errors of Node may come from another realm, so `instanceof Error` would not match.
  if (typeof failure !== 'object' || failure === null) return 'unknown';
  if ('code' in failure && typeof failure.code === 'string') return failure.code;
  return 'name' in failure && typeof failure.name === 'string' ? failure.name : 'unknown';
}
