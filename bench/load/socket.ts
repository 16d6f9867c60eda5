/** Sockets of the load generators: raw, since an HTTP client would cost more than the server. */
import net from 'node:net';

/**
 * Connects to a port of this machine.
 * @param onFailure told where the connection ends or fails later on
 * @throws Error where it can't be made
 */
export function connectTo(port: number, onFailure: (error: Error) => void): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      socket.on('error', onFailure);
      socket.on('close', () => onFailure(new Error('the server closed a connection')));
      resolve(socket);
    });
  });
}

/** Ends a connection of connectTo() without telling of it. */
export function disconnect(socket: net.Socket): void {
  socket.removeAllListeners('close').on('error', () => undefined);
  socket.destroy();
}
