/** Thrown when stored data differs from what was written. */
export class DamageError extends Error {
  override readonly name: string = 'DamageError';
}

export function isDamage(error: unknown): error is DamageError {
  return error instanceof DamageError;
}
