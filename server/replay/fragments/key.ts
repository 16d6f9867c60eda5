/** Which pack of which segment. */
import {
  PACK_CODINGS,
  PACK_GROUPS,
  type PackCoding,
  type PackForm,
  type PackGroup,
} from '../../../compute/fragments/pack.js';

export interface PackKey extends PackForm {
  segmentId: number;
}

/** The key as text: a name for maps and files. */
export function nameOf({ segmentId, group, coding }: PackKey): string {
  return `${segmentId}-${group}-${coding}`;
}

const NAME = new RegExp(`^(\\d{1,15})-(${PACK_GROUPS.join('|')})-(${PACK_CODINGS.join('|')})$`);

/** The key of a name, null where it is none. */
export function keyOfName(name: string): PackKey | null {
  const parts = NAME.exec(name);
  if (parts === null) return null;
  const [, id, group, coding] = parts;
  return { segmentId: Number(id), group: group as PackGroup, coding: coding as PackCoding };
}
