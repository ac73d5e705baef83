import { raisedAlert, type RaisedAlert } from '@gateway/contracts/messages';

/** Asks accounts to mail an alert. Throws until accounts has taken it; the same alert again mails nothing. */
export async function deliverAlert(
  tell: (alert: RaisedAlert) => Promise<unknown>,
  row: { readonly body: unknown },
): Promise<void> {
  await tell(raisedAlert.parse(row.body));
}
