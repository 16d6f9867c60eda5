/** The tools on standard input and output: one assistant that starts the process itself. */
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Source } from './call.js';
import { mcpServer } from './mcp-server.js';

/** A message of an assistant; the longest that tools take are far below. */
export const MAX_RPC_BYTES = 256 * 1024;

/** Serves until standard input ends or `stop` aborts. */
export async function serveOnStdio(
  source: Source,
  report: (error: unknown) => void,
  stop: AbortSignal,
): Promise<void> {
  const transport = new EndingTransport();
  const serving = serveStdio(() => mcpServer(source, report), { transport, onerror: report });
  stop.addEventListener('abort', () => void serving.close(), { once: true });
  if (stop.aborted) await serving.close();
  await transport.ended;
  await serving.close();
}

/**
 * A transport that tells when it ends: with standard input, a pipe or not, with a reader of standard output that is gone,
 * and with a message that is too long. The streams themselves do not: a file or /dev/null as standard input ends, but is
 * never closed.
 */
class EndingTransport extends StdioServerTransport {
  private end: () => void = () => undefined;
  readonly ended = new Promise<void>((resolve) => (this.end = resolve));

  constructor() {
    super(process.stdin, process.stdout, { maxBufferSize: MAX_RPC_BYTES });
  }

  override async close(): Promise<void> {
    await super.close();
    this.end();
  }
}
