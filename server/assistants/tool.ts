/** What a tool declares about itself. */
import { text } from '../api/schemas.js';
import Type, { type Static, type TObject, type TProperties } from '../api/type.js';
import { type Answer, type Rendered, rendered } from './answer.js';
import { argumentCheck } from './arguments.js';
import { type Call, type Source, startCall } from './call.js';

interface Declared<I extends TProperties, O extends TProperties> {
  readonly name: string;
  readonly title: string;
  /** For the model: what it answers, and when to use it. */
  readonly description: string;
  readonly input: I;
  readonly output: O;
  readonly run: (given: Static<TObject<I>>, call: Call) => Promise<Answer<Static<TObject<O>>>>;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: TObject;
  readonly output: TObject;
  /** @throws ToolError, FathomError, or the reason of `cancelled` */
  readonly run: (
    given: unknown,
    source: Source,
    cancelled: AbortSignal,
  ) => Promise<Rendered<object>>;
}

const NOTES = Type.Array(text('One sentence.'), {
  description: 'How to read the answer, and what is not in it.',
});

export function defineTool<const I extends TProperties, const O extends TProperties>({
  name,
  title,
  description,
  input,
  output,
  run,
}: Declared<I, O>): Tool {
  const schema = Type.Object(input, { additionalProperties: false });
  const check = argumentCheck(schema);
  return {
    name,
    title,
    description,
    input: schema,
    output: Type.Object({ ...output, notes: NOTES }),
    async run(given, source, cancelled) {
      check(given);
      return rendered(await run(given as Static<TObject<I>>, startCall(source, cancelled)));
    },
  };
}
