/** A part of the page whose code is loaded when it is first shown. */
import type { ComponentType } from 'preact';
import { usePart } from '../state/use-module.js';
import { Loading, Missing } from './states.js';

interface DeferredProps<Props> {
  /** Must be the same function on each render. */
  load: () => Promise<ComponentType<Props>>;
  props: Props;
}

export function Deferred<Props extends object>({ load, props }: DeferredProps<Props>) {
  const { module: Part, hasFailed } = usePart(load);
  if (Part !== null) return <Part {...props} />;
  return hasFailed ? <Missing /> : <Loading what="the page" />;
}
