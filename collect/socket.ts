/** WebSocket connections to exchanges, with the library ws. */
import { WebSocket } from 'ws';

const HANDSHAKE_MS = 10_000;

interface SocketListener {
  onOpen(): void;
  onMessage(text: string): void;
  /** Anything else came: a ping, or the answer to one. */
  onHeard(): void;
  /** The exchange refused the connection; `onEnd` follows. */
  onRefused(status: number, headers: Headers): void;
  /** Called once; nothing follows. @param isTooLong whether a message was */
  onEnd(why: string, isTooLong: boolean): void;
}

export interface Socket {
  send(text: string): void;
  ping(): void;
  /** Ends the connection at once; the listener hears nothing more. */
  cut(): void;
}

/** Connects; a failure is an end, and so is a message of more than `maxMessageBytes`, of which no more is read. */
export function connect(url: string, maxMessageBytes: number, listener: SocketListener): Socket {
  const ws = new WebSocket(url, {
    handshakeTimeout: HANDSHAKE_MS,
    maxPayload: maxMessageBytes,
    followRedirects: false,
  });
  let isOver = false;
  const end = (why: string, isTooLong = false): void => {
    if (isOver) return;
    isOver = true;
    ws.terminate();
    listener.onEnd(why, isTooLong);
  };
  ws.on('open', () => listener.onOpen());
  ws.on('message', (data: Buffer) => {
    if (!isOver) listener.onMessage(data.toString('utf8'));
  });
  ws.on('ping', () => listener.onHeard());
  ws.on('pong', () => listener.onHeard());
  ws.on('unexpected-response', (request, { statusCode = 0, headers }) => {
    request.destroy();
    if (isOver) return;
    const asked = headers['retry-after'];
    listener.onRefused(
      statusCode,
      new Headers(asked === undefined ? {} : { 'retry-after': asked }),
    );
    end(`the exchange replies ${statusCode}`);
  });
  // An error is followed by 'close'.
  ws.on('error', ({ message, code }: NodeJS.ErrnoException) => {
    const isTooLong = code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
    const most = maxMessageBytes / 1024 / 1024;
    end(isTooLong ? `a message has more than ${most} MiB` : message, isTooLong);
  });
  ws.on('close', (code) => end(`closed by the exchange (${code})`));
  return {
    send: (text) => {
      if (ws.readyState === WebSocket.OPEN) ws.send(text);
    },
    ping: () => {
      if (ws.readyState === WebSocket.OPEN) ws.ping();
    },
    cut: () => {
      isOver = true;
      ws.terminate();
    },
  };
}
