/** A part of the page whose code is loaded when it is first shown. */
import type { ComponentType } from 'preact';
import { useModule } from '../state/use-module.js';
import { Loading } from './states.js';

interface DeferredProps<Props> {
  /** Must be the same function on each render. */
  load: () => Promise<ComponentType<Props>>;
  props: Props;
}

export function Deferred<Props extends object>({ load, props }: DeferredProps<Props>) {
  const Part = useModule(load);
  return Part === null ? <Loading what="the page" /> : <Part {...props} />;
}
