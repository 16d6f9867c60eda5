/** The tools on standard input and output: one assistant that starts the process itself. */
import { once } from 'node:events';
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
  const { stdin, stdout } = process;
  const transport = new StdioServerTransport(stdin, stdout, { maxBufferSize: MAX_RPC_BYTES });
  const serving = serveStdio(() => mcpServer(source, report), { transport, onerror: report });
  try {
    await once(stdin, 'close', { signal: stop });
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    await serving.close();
  }
}
