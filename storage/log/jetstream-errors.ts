/** Error codes of JetStream. */
import { JetStreamApiError } from '@nats-io/jetstream';
import { errors } from '@nats-io/transport-node';

export const WRONG_LAST_SEQUENCE = 10071;
export const NO_MESSAGE = 10037;
export const NO_STREAM = 10059;

const hasCode = (error: unknown, code: number): boolean =>
  error instanceof JetStreamApiError && error.code === code;

/** A handler for catch(): null for an error with one of the codes; rethrows any other error. */
export const nullWith =
  (...codes: readonly number[]) =>
  (error: unknown): null => {
    if (codes.some((code) => hasCode(error, code))) return null;
    throw error;
  };

/** Whether no server or stream listens to the subject. */
export function isNoResponders(error: unknown): boolean {
  const cause: unknown = (error as Error).cause;
  return [error, cause].some(
    (one) =>
      one instanceof errors.NoRespondersError ||
      // The library does not export its class.
      (one instanceof Error && one.name === 'JetStreamNotEnabled'),
  );
}
