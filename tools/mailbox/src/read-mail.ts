import PostalMime, { decodeWords, type Email } from 'postal-mime';

/** An email in readable form: its first plain text, else its markup as text. */
export interface ParsedEmail {
  readonly from: string;
  readonly to: string;
  readonly date: string;
  readonly subject: string;
  readonly text: string;
}

/**
 * Parses an email as received over SMTP. An unreadable email is shown unchanged, so that it does
 * not hide others.
 */
export async function readMail(mail: string): Promise<ParsedEmail> {
  // The library refuses parts that are nested too deeply.
  const { headers, text, html } = await PostalMime.parse(mail).catch((): Pick<Email, 'headers' | 'text' | 'html'> => ({
    headers: [],
    text: mail,
  }));
  // The library would normalize addresses and dates. The raw headers are shown instead.
  const header = (name: string): string => decodeWords(headers.find(({ key }) => key === name)?.value ?? '');
  const [from, to, date, subject] = [header('from'), header('to'), header('date'), header('subject')];
  return { from, to, date, subject, text: text ?? html ?? '' };
}
