import { z } from 'zod';
import { CredentialError } from '../ports.js';

const part = z.string().min(1);

/** Fixed keys of AWS. */
export const awsKeys = z.object({ accessKeyId: part, secretAccessKey: part, sessionToken: part.optional() });
export type AwsKeys = z.infer<typeof awsKeys>;

/** An application of Entra ID with its secret. */
export const entraApplication = z.object({
  tenantId: part,
  clientId: part,
  clientSecret: part,
  /** Where tokens are issued; the public cloud's when absent. */
  authorityHost: z.url().optional(),
});

/** A file of Google as it was downloaded. Its other members go on to Google's library. */
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
 * Reads an opened credential.
 * @throws CredentialError that names the members which are missing or wrong, never a value
 */
export function readCredential<T>(schema: z.ZodType<T>, kind: string, text: string): T {
  const parsed = schema.safeParse(jsonOf(kind, text));
  if (parsed.success) return parsed.data;
  const names = [...new Set(parsed.error.issues.map(({ path }) => path.join('.') || 'the whole'))];
  throw new CredentialError(`a credential of ${kind} is unusable: ${names.join(', ')} missing or of a wrong form`);
}

/** The parser's own message would quote the text. */
function jsonOf(kind: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CredentialError(`a credential of ${kind} is unusable: it is no JSON`);
  }
}

/**
 * What a failure may be told by: its code, else its name. Texts of libraries may quote what they
 * have sent or read.
 */
export function failureCode(failure: unknown): string {
  // Errors of Node may belong to another realm than this module's `Error`.
  if (typeof failure !== 'object' || failure === null) return 'unknown';
  if ('code' in failure && typeof failure.code === 'string') return failure.code;
  return 'name' in failure && typeof failure.name === 'string' ? failure.name : 'unknown';
}
