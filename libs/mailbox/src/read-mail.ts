import PostalMime, { decodeWords, type Email } from 'postal-mime';

/** A mail as people read it: its first plain text, else its markup as text. */
export interface ReadMail {
  readonly from: string;
  readonly to: string;
  readonly date: string;
  readonly subject: string;
  readonly text: string;
}

/**
 * Reads a mail as it came over SMTP. One that cannot be read is shown as it is, so that it hides no
 * other one.
 */
export async function readMail(mail: string): Promise<ReadMail> {
  const { headers, text, html } = await PostalMime.parse(mail).catch((): Email => unreadable(mail));
  // Not the library's addresses and dates: whoever looks at a mail wants to see what was sent.
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
