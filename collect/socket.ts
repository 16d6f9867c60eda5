/** WebSocket connections to exchanges, with the library ws. */
import { WebSocket } from 'ws';

const HANDSHAKE_MS = 10_000;
/** A longer message ends the connection: the whole book of an exchange has some MB. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

interface SocketListener {
  onOpen(): void;
  onMessage(text: string): void;
  /** Anything else came: a ping, or the answer to one. */
  onHeard(): void;
  /** Called once; nothing follows. */
  onEnd(why: string): void;
}

export interface Socket {
  send(text: string): void;
  ping(): void;
  /** Ends the connection at once; the listener hears nothing more. */
  cut(): void;
}

/** Connects; a failure is an end. */
export function connect(url: string, listener: SocketListener): Socket {
  const ws = new WebSocket(url, {
    handshakeTimeout: HANDSHAKE_MS,
    maxPayload: MAX_MESSAGE_BYTES,
    followRedirects: false,
  });
  let isOver = false;
  const end = (why: string): void => {
    if (isOver) return;
    isOver = true;
    ws.terminate();
    listener.onEnd(why);
  };
  ws.on('open', () => listener.onOpen());
  ws.on('message', (data: Buffer) => {
    if (!isOver) listener.onMessage(data.toString('utf8'));
  });
  ws.on('ping', () => listener.onHeard());
  ws.on('pong', () => listener.onHeard());
  // An error is followed by 'close'.
  ws.on('error', ({ message }) => end(message));
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
