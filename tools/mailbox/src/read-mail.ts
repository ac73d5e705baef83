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
  const { headers, text, html } = await PostalMime.parse(mail).catch((): Email => unreadable(mail));
  // Uses raw headers instead of the library's addresses and dates, so that nothing is normalized.
  const header = (name: string): string => decodeWords(headers.find(({ key }) => key === name)?.value ?? '');
  return {
    from: header('from'),
    to: header('to'),
    date: header('date'),
    subject: header('subject'),
    text: text ?? html ?? '',
  };
}

/** The library refuses parts that are nested too deeply. */
function unreadable(mail: string): Email {
  return { headers: [], headerLines: [], attachments: [], text: mail };
}
