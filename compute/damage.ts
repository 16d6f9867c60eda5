/** Thrown where stored data are not as they were written. */
export class DamageError extends Error {
  override readonly name: string = 'DamageError';
}

export function isDamage(error: unknown): error is DamageError {
  return error instanceof DamageError;
}
