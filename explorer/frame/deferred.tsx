/** A part of the page whose code is loaded when it is first shown. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Loading } from './states.js';

interface DeferredProps<Props> {
  /** The same function each time. */
  load: () => Promise<ComponentType<Props>>;
  props: Props;
}

export function Deferred<Props extends object>({ load, props }: DeferredProps<Props>) {
  const [Part, setPart] = useState<ComponentType<Props> | null>(null);
  useEffect(() => {
    void load().then((part) => setPart(() => part));
  }, [load]);
  return Part === null ? <Loading what="the page" /> : <Part {...props} />;
}
