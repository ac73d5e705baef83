/** A mail as people read it. Only plain texts in one part: that is what this system sends. */
export interface ReadMail {
  readonly from: string;
  readonly to: string;
  readonly date: string;
  readonly subject: string;
  readonly text: string;
}

/** Reads a mail as it came over SMTP. What it does not understand it shows as it is. */
export function readMail(mail: string): ReadMail {
  const end = mail.indexOf('\r\n\r\n');
  const head = (end < 0 ? mail : mail.slice(0, end)).replace(/\r\n[ \t]+/g, ' ');
  const body = end < 0 ? '' : mail.slice(end + 4);
  const header = (name: string): string => {
    const line = head.split('\r\n').find((one) => one.toLowerCase().startsWith(`${name}:`));
    return decodeWords(line?.slice(name.length + 1).trim() ?? '');
  };
  return {
    from: header('from'),
    to: header('to'),
    date: header('date'),
    subject: header('subject'),
    text: decodeBody(body, header('content-transfer-encoding').toLowerCase()).replaceAll('\r\n', '\n'),
  };
}

function decodeBody(body: string, encoding: string): string {
  switch (encoding) {
    case 'quoted-printable':
      return decodeQuoted(body.replace(/=\r\n/g, ''));
    case 'base64':
      return Buffer.from(body, 'base64').toString('utf8');
    default:
      return body;
  }
}

function decodeQuoted(text: string): string {
  const bytes = text.replace(/=([0-9A-F]{2})/gi, (_match, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

/** Encoded words (RFC 2047) of UTF-8. */
function decodeWords(text: string): string {
  return text
    .replace(/\?= +=\?/g, '?==?')
    .replace(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_match, form: string, word: string) =>
      form.toLowerCase() === 'b'
        ? Buffer.from(word, 'base64').toString('utf8')
        : decodeQuoted(word.replaceAll('_', ' ')),
    );
}
