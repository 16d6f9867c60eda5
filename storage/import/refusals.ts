/** Refusals of an import that an option would lift. */
import { InputError } from '../errors.js';

/** What an import would need: the worth of a contract, or which of several symbols. */
export type NeededOption = 'contract' | 'symbol';

/** The input cannot be imported without an option; the caller says how it is given. */
export class OptionNeededError extends InputError {
  constructor(
    readonly option: NeededOption,
    message: string,
  ) {
    super(message);
  }
}
