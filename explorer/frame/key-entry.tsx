/** Asks for the key. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { trouble as troubleValue, setKey } from '../state/session.js';
import { useValue } from '../state/use-value.js';
import { Icon } from './icon.js';

export function KeyEntry() {
  const trouble = useValue(troubleValue);
  const [text, setText] = useState('');
  const refused = trouble?.kind === 'key-refused' ? trouble : null;
  const refusal = refused?.message ?? null;
  /** Null: as with the rejected key. */
  const [choice, setChoice] = useState<boolean | null>(null);
  const isKept = choice ?? refused?.wasKept ?? false;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const submit = (event: Event): void => {
    event.preventDefault();
    const given = text.trim();
    if (given !== '') setKey(given, isKept);
  };
  return (
    <section class="key-entry" aria-labelledby="key-title">
      <div class="key-mark" aria-hidden="true">
        <Icon name="mark" />
      </div>
      <h1 id="key-title">{refusal === null ? 'Enter an API key' : 'This key is not accepted'}</h1>
      <p>
        Where buyers and sellers wait, at every price, over time. The explorer reads this server's
        API, so it needs a key.
      </p>
      <form onSubmit={submit}>
        <label for="key">API key</label>
        <div class="field">
          <input
            ref={field}
            id="key"
            type="password"
            value={text}
            placeholder="fathom_..."
            autocomplete="off"
            spellcheck={false}
            aria-invalid={refusal !== null}
            aria-describedby="key-note"
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit" class="primary">
            Open
          </button>
        </div>
        {refusal !== null && (
          <p class="refusal" role="alert">
            {refusal}
          </p>
        )}
        <label class="check">
          <input
            type="checkbox"
            checked={isKept}
            onChange={(event) => setChoice(event.currentTarget.checked)}
          />
          Remember it in this browser, for other tabs too
        </label>
        <p id="key-note" class="note">
          Otherwise the key stays in this tab. It is sent only to this server. The operator creates
          keys with <code>fathom keys create</code>; <code>npm start</code> makes a new key each
          time, and prints an address with it: open that in any tab, and this one goes on, too.
        </p>
      </form>
    </section>
  );
}
