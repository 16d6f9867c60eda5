/** The key's calls this month, by day and by endpoint. */
import { count } from '../state/format.js';
import { useDocument } from '../state/load.js';
import { Bars } from '../views/sparkline.js';

export function Usage() {
  const { document: usage } = useDocument(
    'usage',
    (client, signal) => client.getUsage({}, { signal }),
    'never',
  );
  if (usage === null) return null;
  const most = usage.endpoints.toSorted((a, b) => b.requests - a.requests).slice(0, 5);
  return (
    <>
      {usage.days.length > 1 && (
        <Bars values={usage.days.map(({ requests }) => requests)} label="Calls by day" />
      )}
      <table class="small">
        <caption class="hidden">Calls this month by endpoint</caption>
        <tbody>
          {most.map(({ endpoint, requests }) => (
            <tr key={endpoint}>
              <th scope="row">{endpoint}</th>
              <td>{count(requests)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
