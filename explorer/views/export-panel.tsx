/** Exports what is in sight: its rows as a file, and its requests as a program. */
import { useEffect, useState } from 'preact/hooks';
import type { FileColumn } from '../export/columns.js';
import { MAX_FILE_CELLS } from '../export/history.js';
import { type FileFormat, saveBlob, saveColumns } from '../export/save.js';
import { rowsText, type Size, sizeText } from '../export/sizes.js';
import { compact } from '../state/format.js';
import type { ApiRequest } from '../state/requests.js';
import { CopyButton } from './copy-button.js';

/** What a view shows, as columns. */
export interface ViewData {
  /** The file's name without extension. */
  name: () => string | Promise<string>;
  load: () => Promise<FileColumn[]>;
  /** How large its files become; undefined if they are small. */
  size?: () => Promise<Size>;
  /** A picture of the view as PNG; undefined if it has none. */
  picture?: () => Promise<Blob>;
}

/** The smaller files first. */
const FORMATS: readonly { format: FileFormat; label: string }[] = [
  { format: 'parquet', label: 'Parquet' },
  { format: 'csv', label: 'CSV' },
];

export interface ExportPanelProps {
  requests: readonly ApiRequest[];
  data: ViewData;
}

export function ExportPanel({ requests, data }: ExportPanelProps) {
  const [message, setMessage] = useState('');
  const [isBusy, setBusy] = useState(false);
  const size = useSize(data);
  const isTooLarge = isSize(size) && (size.hasMore || size.rows > MAX_FILE_CELLS);
  /** @param work returns a text that says what it has saved */
  const save = async (work: () => Promise<string>): Promise<void> => {
    setBusy(true);
    setMessage('Loading what is in sight');
    try {
      setMessage(await work());
    } catch (error) {
      setMessage(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  const saveRows = async (format: FileFormat): Promise<string> => {
    const name = await data.name();
    const columns = await data.load();
    await saveColumns(name, format, columns);
    const rows = columns[0]?.values.length ?? 0;
    return `${rows.toLocaleString('en-US')} rows saved as ${name}.${format}`;
  };
  const { picture } = data;
  const savePicture = async (take: () => Promise<Blob>): Promise<string> => {
    const name = await data.name();
    saveBlob(`${name}.png`, await take());
    return `Picture saved as ${name}.png`;
  };
  const snippets = async () => import('../export/snippets.js');
  return (
    <>
      <h3>What is in sight</h3>
      {data.size !== undefined && (
        <p class="note" role="status">
          {isSize(size) ? rowsText(size) : SIZE_TEXTS[size]}
          {isTooLarge &&
            `: a file has at most ${compact(MAX_FILE_CELLS)}. Zoom in, or use 'fathom replay'.`}
        </p>
      )}
      <div class="export-row">
        {FORMATS.map(({ format, label }) => (
          <span key={format} class="export-file">
            <button
              type="button"
              class="tool"
              disabled={isBusy || isTooLarge}
              onClick={() => void save(() => saveRows(format))}
            >
              {label}
            </button>
            {data.size !== undefined && (
              <span class="note">{isSize(size) && !isTooLarge && sizeText(size, format)}</span>
            )}
          </span>
        ))}
        {picture !== undefined && (
          <button
            type="button"
            class="tool"
            disabled={isBusy}
            onClick={() => void save(() => savePicture(picture))}
          >
            PNG
          </button>
        )}
      </div>
      <h3>The {requests.length === 1 ? 'request' : 'requests'} as a program</h3>
      <div class="export-row">
        <CopyButton
          text={async () => (await snippets()).typescriptText(location.origin, requests)}
          label="Copy TypeScript"
        />
        <CopyButton
          text={async () => (await snippets()).pythonText(location.origin, requests)}
          label="Copy Python"
        />
      </div>
      <p class="note" role="status">
        {message}
      </p>
    </>
  );
}

/** Its place is there from the first, so that nothing moves when it is known. */
const SIZE_TEXTS = { asked: 'Counting the rows', unknown: 'The number of rows is not known' };
const isSize = (size: Size | keyof typeof SIZE_TEXTS): size is Size => typeof size === 'object';

/** The size of what is in sight when the panel opens. */
function useSize({ size: load }: ViewData): Size | keyof typeof SIZE_TEXTS {
  const [size, setSize] = useState<Size | keyof typeof SIZE_TEXTS>('asked');
  useEffect(() => {
    let isOpen = true;
    // Without it, the files can be saved all the same.
    load?.().then(
      (found) => isOpen && setSize(found),
      () => isOpen && setSize('unknown'),
    );
    return () => void (isOpen = false);
  }, []);
  return size;
}
