/** How much room fragments of pages may take. */
import { FRAGMENT_LIMITS, type FragmentLimits } from '../replay/fragments/fragments.js';
import { wholeNumber } from './settings.js';

const MIB = 2 ** 20;
const MAX_MEMORY_MIB = 2 ** 20;
const MAX_DISK_MIB = 2 ** 24;

interface Setting {
  value: string;
  from: string;
}

/** @throws UsageError naming where a bad value came from */
export function fragmentLimits(memory: Setting | null, disk: Setting | null): FragmentLimits {
  const bytes = ({ value, from }: Setting, max: number) => MIB * wholeNumber(value, from, 0, max);
  return {
    memoryBytes: memory === null ? FRAGMENT_LIMITS.memoryBytes : bytes(memory, MAX_MEMORY_MIB),
    diskBytes: disk === null ? FRAGMENT_LIMITS.diskBytes : bytes(disk, MAX_DISK_MIB),
  };
}
