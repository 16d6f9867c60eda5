/** How much room what pages are made from may take. */
import { FRAGMENT_LIMITS, type FragmentLimits } from '../replay/fragments/fragments.js';
import { COLUMN_BYTES } from '../replay/segment-columns.js';
import { wholeNumber } from './settings.js';

const MIB = 2 ** 20;
const MAX_MEMORY_MIB = 2 ** 20;
const MAX_DISK_MIB = 2 ** 24;
/** One ArrayBuffer holds them. */
const MAX_COLUMNS_MIB = 2 ** 12;

interface Setting {
  value: string;
  from: string;
}

/** @throws UsageError naming where a bad value came from */
export function fragmentLimits(memory: Setting | null, disk: Setting | null): FragmentLimits {
  return {
    memoryBytes: bytesOf(memory, MAX_MEMORY_MIB) ?? FRAGMENT_LIMITS.memoryBytes,
    diskBytes: bytesOf(disk, MAX_DISK_MIB) ?? FRAGMENT_LIMITS.diskBytes,
  };
}

/** @throws UsageError naming where a bad value came from */
export function columnBytes(memory: Setting | null): number {
  return bytesOf(memory, MAX_COLUMNS_MIB) ?? COLUMN_BYTES;
}

function bytesOf(setting: Setting | null, maxMib: number): number | null {
  return setting && MIB * wholeNumber(setting.value, setting.from, 0, maxMib);
}
